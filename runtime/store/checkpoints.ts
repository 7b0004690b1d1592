// The checkpoints of the ledger. LMDB writes its pages without waiting for the disk; a checkpoint makes one of its commits safe.
//
// 1. Between two commits, a new read transaction holds all pages of the newest commit, and both root pages are copied. From then on, no commit
//    writes a page that these roots refer to.
// 2. The data file is written back in steps and then synced, on other threads, while turns go on. If a commit or a stop must wait for the
//    checkpoint, the data file is only synced, at once.
// 3. The roots and the place in the log are written to the file of the checkpoint.
// 4. Only then may the pages of the previous checkpoint, and its part of the log, be used again.
import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Checkpoint, checkpointPath, encodeCheckpoint } from '../commit-log/checkpoint-file.ts';
import type { LogSizes } from '../commit-log/log-sizes.ts';
import type { LogWriter } from '../commit-log/log-writer.ts';
import { syncDirectory, writeSynced } from '../durable-file.ts';
import { asStoreError } from './fault.ts';
import { holdPages, type Lmdb, oldHoldCommits, type PageHold, writtenBytes } from './lmdb.ts';
import { copyRoots } from './root-pages.ts';
import { StoreFault, StoreFull, type Table } from './store.ts';
import { rangeWriter, writeBack } from './write-back.ts';

const sync = promisify(fdatasync);
const mode = 0o600;
const unfinishedPrefix = 'checkpoint-unfinished-';
/** A checkpoint is due about this long after the first commit that the last checkpoint does not contain. */
const checkpointMs = 60_000;
/** A checkpoint that failed because the disk was full is tried again after this time. */
const retryMs = 1_000;
/** The number of bytes written to the data file is read once per this many commits. */
const commitsPerReading = 16;
/** While the hold of the last checkpoint is old, one of this many commits keeps the list of free pages. */
const commitsPerFreeList = 16;
/** Commits wait for a checkpoint when `#due` has reached this value. */
const overdue = 2;
/** When `#due` has reached this value, a checkpoint in progress stops writing back in steps with pauses, and syncs. */
const urgent = 1.5;

export type CheckpointsOptions = LogSizes & {
  readonly lmdb: Lmdb<Table>;
  readonly dataFile: string;
  readonly logDirectory: string;
  readonly log: LogWriter;
  readonly epoch: number;
  /** The format of the state. */
  readonly format: number;
  /** The number of the previous checkpoint. */
  readonly last: number;
  /** Keeps the pages of the previous checkpoint. */
  readonly hold: PageHold;
  /** Runs `act` while no other process can take the directory over. Throws if another process has taken it over. */
  readonly guard: (act: () => void) => void;
  /** Called with the fault of a checkpoint that no commit waits for. After this, nothing more may be committed. */
  readonly onFault: (fault: StoreFault) => void;
};

type Pending = {
  readonly checkpoint: Checkpoint;
  readonly hold: PageHold;
  /** The number of commits before `hold`. */
  readonly commits: number;
  readonly appendedBytes: number;
  readonly writtenBytes: number;
  readonly fileBytes: number;
};

export class Checkpoints {
  readonly #options: CheckpointsOptions;
  // The kernel reports an error of a write once for each descriptor of a file, so each kind of sync has a descriptor of its own.
  /** For `complete`. */
  readonly #descriptor: number;
  /** For checkpoints that `begin` has begun. */
  readonly #background: number;
  /** For `rangeWriter`. */
  readonly #range: number;
  readonly #path: string;
  #number: number;
  #hold: PageHold;
  /** The number of commits before `#hold`. */
  #heldAt = 0;
  #pending: Pending | null = null;
  /** The bytes written to the log up to the newest complete checkpoint. */
  #appendedBytes = 0;
  /** The bytes written to the data file up to the newest complete checkpoint. */
  #writtenBytes = 0;
  /** The bytes written to the data file since the newest complete checkpoint, as of the last reading (`commitsPerReading`). */
  #churnBytes = 0;
  #commits = 0;
  #timer: NodeJS.Timeout | null = null;
  #begun = 0;
  #isClosed = false;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
    const { logDirectory } = options;
    for (const name of readdirSync(logDirectory))
      if (name.startsWith(unfinishedPrefix)) rmSync(join(logDirectory, name), { force: true });
    this.#descriptor = openSync(options.dataFile, constants.O_RDWR);
    this.#background = openSync(options.dataFile, constants.O_RDWR);
    this.#range = openSync(options.dataFile, constants.O_RDWR);
    this.#path = checkpointPath(options.logDirectory);
    this.#number = options.last;
    this.#hold = options.hold;
  }

  /** The number of the newest complete checkpoint. */
  get number(): number {
    return this.#number;
  }

  /** Whether the next commit is one that keeps the list of free pages (`freeListKeeper`). */
  get keepsFreeList(): boolean {
    return this.#commits - this.#heldAt >= oldHoldCommits && this.#commits % commitsPerFreeList === 0;
  }

  /**
   * Called before each commit. If a checkpoint is overdue, first makes a checkpoint (`complete`). Throws StoreFull or StoreFault if the
   * checkpoint fails.
   */
  admit(): void {
    if (this.#due() >= overdue) this.complete();
  }

  /** Called after each commit. Begins a checkpoint if one is due. */
  committed(): void {
    if (this.#timer === null) this.#startTimer(checkpointMs);
    if (++this.#commits % commitsPerReading === 0)
      this.#churnBytes = writtenBytes(this.#options.lmdb.env) - this.#writtenBytes;
    if (this.#due() >= 1) this.begin();
  }

  /**
   * The bytes written since the last checkpoint, as a fraction of their limit: for the log or the data file, whichever fraction is larger.
   * 1: the next checkpoint is due.
   */
  #due(): number {
    const { log, segmentBytes, churnBytes } = this.#options;
    return Math.max((log.appendedBytes - this.#appendedBytes) / segmentBytes, this.#churnBytes / churnBytes);
  }

  /** Begins a checkpoint, unless one is in progress. */
  begin(): void {
    if (this.#pending !== null) return;
    let pending: Pending;
    try {
      pending = this.#take(false);
    } catch (error) {
      this.#options.onFault(new StoreFault(`a checkpoint cannot begin: ${(error as Error).message}`, { cause: error }));
      return;
    }
    this.#pending = pending;
    const aside = this.#newName();
    void this.#write(pending, aside).then(
      () => this.#finish(pending, aside),
      error => this.#fail(pending, aside, error),
    );
  }

  /**
   * Makes a checkpoint and waits for it. `isClean`: a clean stop makes the checkpoint, and no turn follows it. Throws StoreFull or
   * StoreFault.
   */
  complete(isClean = false): void {
    const abandoned = this.#pending;
    this.#pending = null;
    abandoned?.hold.release();
    const pending = this.#take(isClean);
    const aside = this.#newName();
    try {
      try {
        fdatasyncSync(this.#descriptor);
      } catch (error) {
        throw unsynced(error);
      }
      writeSynced(aside, encodeCheckpoint(pending.checkpoint), mode);
      this.#put(aside);
    } catch (error) {
      pending.hold.release();
      remove(aside);
      throw this.#storeError(error);
    }
    this.#completed(pending);
  }

  /** A new name for an unfinished file. Names differ, because an abandoned checkpoint may still be written beside the next one. */
  #newName(): string {
    return join(this.#options.logDirectory, `${unfinishedPrefix}${++this.#begun}`);
  }

  /**
   * Gives the file its final name. Any error is a fault, even on a full disk. After an error it is unknown which of two checkpoints a start
   * would find, and only the pages of one are held.
   */
  #put(aside: string): void {
    try {
      this.#options.guard(() => {
        renameSync(aside, this.#path);
        syncDirectory(this.#options.logDirectory);
      });
    } catch (error) {
      throw new StoreFault(`the checkpoint cannot be replaced: ${(error as Error).message}`, { cause: error });
    }
  }

  #storeError(error: unknown): Error {
    return error instanceof StoreFault ? error : asStoreError(error, this.#options.logDirectory);
  }

  #take(isClean: boolean): Pending {
    const { lmdb, log, epoch, format } = this.#options;
    // Releases the pages that processes held when they died. The library itself does this only when it opens an environment.
    lmdb.env.readerCheck();
    const hold = holdPages(lmdb.env);
    const roots = copyRoots(this.#descriptor);
    const { last: lsn, position, keeps } = log;
    const checkpoint = { number: this.#number + 1, epoch, lsn, ...position, isClean, format, keeps, roots };
    return {
      checkpoint,
      hold,
      commits: this.#commits,
      appendedBytes: log.appendedBytes,
      writtenBytes: writtenBytes(lmdb.env),
      fileBytes: fstatSync(this.#descriptor).size,
    };
  }

  async #write(pending: Pending, aside: string): Promise<void> {
    const { checkpoint, fileBytes } = pending;
    const write = rangeWriter(this.#range);
    if (write !== null) await writeBack(fileBytes, write, () => this.#pending === pending && this.#due() < urgent);
    try {
      await sync(this.#background);
    } catch (error) {
      throw unsynced(error);
    }
    const file = await open(aside, 'w', mode);
    try {
      await file.writeFile(encodeCheckpoint(checkpoint));
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Gives the file its final name, on the thread that commits, so that an older checkpoint can never replace a newer one. */
  #finish(pending: Pending, aside: string): void {
    if (this.#pending !== pending) {
      remove(aside);
      return;
    }
    try {
      this.#put(aside);
    } catch (error) {
      this.#fail(pending, aside, error as Error);
      return;
    }
    this.#pending = null;
    this.#completed(pending);
  }

  #fail(pending: Pending, aside: string, error: Error): void {
    remove(aside);
    // After `close`, the error may only say that the descriptor is closed.
    if (this.#isClosed) return;
    const failure = this.#storeError(error);
    if (this.#pending === pending) {
      this.#pending = null;
      pending.hold.release();
      if (failure instanceof StoreFull) this.#startTimer(retryMs);
    }
    // The fault of an abandoned checkpoint counts, too: the disk has failed.
    if (failure instanceof StoreFault) this.#options.onFault(failure);
  }

  #completed({ checkpoint, hold, commits, appendedBytes, writtenBytes }: Pending): void {
    this.#hold.release();
    this.#hold = hold;
    this.#heldAt = commits;
    this.#number = checkpoint.number;
    const { log } = this.#options;
    this.#churnBytes = Math.max(0, this.#churnBytes - (writtenBytes - this.#writtenBytes));
    this.#appendedBytes = appendedBytes;
    this.#writtenBytes = writtenBytes;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (log.appendedBytes > appendedBytes) this.#startTimer(checkpointMs);
    log.releaseBefore(checkpoint);
  }

  #startTimer(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.begin(), ms).unref();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const pending = this.#pending;
    this.#pending = null;
    pending?.hold.release();
    this.#hold.release();
    closeSync(this.#descriptor);
    closeSync(this.#background);
    closeSync(this.#range);
  }
}

/** Removes an unfinished file. If it cannot be removed, the next start removes it. */
function remove(aside: string): void {
  try {
    rmSync(aside, { force: true });
  } catch {
    // The file system may have become read-only.
  }
}

/** Makes a fault of any failed sync, even on a full disk, because the kernel forgets the pages that it could not write. */
function unsynced(error: unknown): StoreFault {
  return new StoreFault(`the ledger cannot be synced: ${(error as Error).message}`, { cause: error });
}

/** The directory of the log and of its checkpoint. */
export function logDirectoryOf(path: string): string {
  return join(path, 'log');
}
