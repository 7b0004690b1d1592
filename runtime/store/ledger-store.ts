// The ledger on disk. A commit appends its batch to the commit log, and waits for the disk only there, unless a checkpoint is overdue. When the
// commit returns, reads of LMDB show the batch; the next checkpoint makes LMDB's own pages safe on disk.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../clock.ts';
import type { ArchiveReport } from '../commit-log/archive.ts';
import { readCheckpoint } from '../commit-log/checkpoint-file.ts';
import { hasTurns } from '../commit-log/log-reader.ts';
import { churnBytesMin, defaultLogSizes, type LogSizes, segmentBytesMin } from '../commit-log/log-sizes.ts';
import type { Lsn } from '../commit-log/part.ts';
import { listSegments } from '../commit-log/segments.ts';
import { makeDirectory } from '../durable-file.ts';
import { isAlive, isHere } from '../processes/identity.ts';
import { appliedIn, appliedKey, encodeApplied } from './applied.ts';
import { WriteBatch } from './batch.ts';
import { logDirectoryOf } from './checkpoints.ts';
import { type CommitLock, openCommitLock } from './commit-lock.ts';
import { hasPages } from './damage.ts';
import { asStoreError } from './fault.ts';
import { hasHeartbeat, startHeartbeat } from './heartbeat.ts';
import { assertNoLegacyOwner, type LedgerRecovery, type OpenLedger, openLedger } from './ledger-recovery.ts';
import { freeListKeeper, type Lmdb, openChecked, openLmdb, readerOf, write } from './lmdb.ts';
import { type Claim, commitLockMsMax, holderToWatch, type Owner, readOwner, StoreHeld, takeClaim } from './owner.ts';
import { CommitRoom, diskPart } from './room.ts';
import { type Batch, type Reader, type Store, StoreFault, StoreFull, type Table, tables } from './store.ts';
import { readersMsMax, registerReader } from './store-readers.ts';

/** A process in another pid namespace that holds the directory counts as dead if it shows no sign of life for this long. */
const silenceMsMax = 5_000;
/** A segment of the log takes at most this fraction of the disk, or `segmentBytesMin` if that is more (`fitting`). */
const segmentPart = 0.02;
/**
 * Before a checkpoint is due, at most this fraction of the disk is written to the data file, or `churnBytesMin` if that is more
 * (`fitting`).
 */
const churnPart = 0.05;

/** The files that a process that opens the ledger makes, even if it only reads: the locks of commits, of readers, and of LMDB. */
const lockFiles = ['gate.lock', 'readers.lock', 'lock.mdb'] as const;

/** Default of `keeps`: as the checkpoint says, otherwise no. */
export type StoreOptions = Partial<Pick<LedgerRecovery, 'readersMs' | 'upgrades' | 'keeps' | 'until' | 'onFault'>> & {
  readonly log?: LogSizes;
  /** How long the start watches a holder in another pid namespace. */
  readonly silenceMs?: number;
  readonly watch?: typeof hasHeartbeat;
};

/** The ledger as its one writer sees it: a store with a commit log. */
export type LedgerStore = Store & {
  /** The newest turn. */
  readonly applied: Lsn;
  /** Makes a checkpoint and waits for it. */
  checkpoint(): void;
  /** The number of the segment of the log that turns are appended to. */
  readonly segment: number;
  /** If the store keeps the segments of the log, copies them to this directory from now on. */
  archiveTo(directory: string, report: ArchiveReport): void;
  /** Why the last attempt to archive the log failed. Null: the attempt succeeded, or there was none. */
  readonly archiveFailure: string | null;
  /** If the store keeps the segments of the log, resolves when every turn so far is archived, or cannot be archived at present. */
  archived(): Promise<void>;
};

export function ledgerFile(path: string): string {
  return join(path, 'data.mdb');
}

/** Whether the directory has a ledger with records: its data file exists and is not empty. */
export function hasLedger(path: string): boolean {
  return hasPages(ledgerFile(path));
}

/** Opens the ledger for a thread that only reads. The ledger thread of this process must have opened it before. */
export function openReader(path: string): Reader {
  return readerOf(openLmdb(path, tables, 'synced'));
}

/**
 * Opens the ledger for a process that only reads, while another process may own it. If no process owns the ledger and its last stop was not
 * clean, it is recovered first. Throws StoreFault if the ledger is damaged, or must be recovered while other processes read it.
 */
export function openReaderBeside(path: string): Reader {
  const { lmdb, leave } = openBeside(path);
  const reader = readerOf(lmdb);
  return {
    ...reader,
    close() {
      reader.close();
      leave();
    },
  };
}

/**
 * Opens the LMDB environment of the ledger as `openReaderBeside` does, for reading and copying. No other process recovers the ledger until
 * `leave` is called. Call `leave` after closing the environment.
 */
export function openBeside(path: string): { readonly lmdb: Lmdb<Table>; leave(): void } {
  if (lockFiles.some(name => !existsSync(join(path, name)))) assertUser(path);
  const commitLock = openCommitLock(path);
  try {
    for (;;) {
      const owner = livingOwner(path);
      if (owner !== null) assertOtherPid(path, owner);
      const opened = commitLock.open(() => (owner !== null || isWhole(path) ? openRegistered(path) : null));
      if (opened !== null) return opened;
      recover(path);
    }
  } finally {
    commitLock.close();
  }
}

function openRegistered(path: string): { readonly lmdb: Lmdb<Table>; leave(): void } {
  const leave = registerReader(path);
  try {
    return { lmdb: openChecked(path, tables, 'beside'), leave };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Throws StoreFault if the owner has the pid of this process in another pid namespace: LMDB tells the processes that use it apart by their pids. */
function assertOtherPid(path: string, owner: Owner): void {
  if (isHere(owner) || owner.pid !== process.pid) return;
  throw new StoreFault(
    `${path} is held by a process of another container that also has the pid ${owner.pid}: run this command in that container (docker exec)`,
  );
}

/** Whether the ledger can be read as it is: its last stop was clean, its first start has not finished, or an earlier version wrote it. */
function isWhole(path: string): boolean {
  const directory = logDirectoryOf(path);
  const found = readCheckpoint(directory);
  if (found !== null) return found.isClean && hasLedger(path);
  return !existsSync(directory) || !listSegments(directory).some(segment => hasTurns(segment));
}

/** The living process that holds the directory; null: there is none. Watches a holder in another pid namespace for a sign of life. */
export function livingOwner(path: string): Owner | null {
  const owner = readOwner(path);
  if (owner === null) return null;
  return (isHere(owner) ? isAlive(owner) : hasHeartbeat(path, silenceMsMax)) ? owner : null;
}

/** Throws StoreHeld if another living process holds the directory. Does not take the directory. */
export function assertNotHeld(path: string): void {
  const isAwake = (): boolean => hasHeartbeat(path, silenceMsMax);
  const owner = holderToWatch(path, null, true);
  if (owner !== null && isAwake()) throw new StoreHeld(path, owner);
  const reader = openReaderBeside(path);
  try {
    assertNoLegacyOwner(path, reader, isAwake);
  } finally {
    reader.close();
  }
}

/**
 * Throws StoreFault if this process is root and the state belongs to another user: that user's service could not open the files that this process
 * would create. Commands call it before they open the ledger for writing; a service may start as root.
 */
export function assertUser(path: string): void {
  if (process.getuid?.() !== 0) return;
  const found = [ledgerFile(path), path].map(each => statSync(each, { throwIfNoEntry: false })).find(each => each);
  if (!found || found.uid === 0) return;
  throw new StoreFault(
    `${path} belongs to user ${found.uid}, who could not read what root writes there: run this command as that user`,
  );
}

function recover(path: string): void {
  assertUser(path);
  try {
    openStore(path, { upgrades: false }).close();
  } catch (error) {
    // `StoreHeld` means that another process has begun to recover the ledger.
    if (!(error instanceof StoreHeld)) throw error;
  }
}

/**
 * Opens the ledger for writing. The process then holds the directory until `close`. Throws StoreHeld if another living process holds the
 * directory. Throws StoreFault if the ledger is damaged, has an unreadable format, or must be recovered while other processes read it.
 */
export function openStore(path: string, options: StoreOptions = {}): LedgerStore {
  const { silenceMs = silenceMsMax, watch = hasHeartbeat } = options;
  makeDirectory(path, 0o700);
  const commitLock = openCommitLock(path);
  try {
    for (let silent: Owner | null = null; ; ) {
      const startMs = performance.now();
      const tried = commitLock.open(() => {
        const owner = holderToWatch(path, silent, performance.now() - startMs <= commitLockMsMax);
        return owner === null ? { store: hold(path, commitLock, options) } : { owner };
      });
      if ('store' in tried) return tried.store;
      if (watch(path, silenceMs)) throw new StoreHeld(path, tried.owner);
      silent = tried.owner;
    }
  } catch (error) {
    commitLock.close();
    throw error;
  }
}

/**
 * Takes the directory, recovers the ledger if necessary, and opens it. The caller holds the commit lock, so that no process opens the ledger
 * before it is whole.
 */
function hold(path: string, commitLock: CommitLock, options: StoreOptions): LedgerStore {
  const {
    silenceMs = silenceMsMax,
    watch = hasHeartbeat,
    readersMs = readersMsMax,
    upgrades = true,
    keeps,
    until = Number.POSITIVE_INFINITY,
    onFault = () => {},
  } = options;
  const found = readCheckpoint(logDirectoryOf(path));
  // Creates the lock file of the readers. If a reader that runs as root created it, only root could open it.
  registerReader(path)();
  const claim = takeClaim(path, (found?.epoch ?? 0) + 1);
  const sizes = fitting(path, options.log);
  let fault: StoreFault | null = null;
  // Until the store is open, the caller holds the commit lock, and `guard` must not take it.
  let isOpen = false;
  const guarded = (act: () => void): void => {
    claim.assertOurs();
    act();
  };
  try {
    const opened = openLedger({
      path,
      epoch: claim.epoch,
      found,
      readersMs,
      upgrades,
      keeps: keeps ?? found?.keeps ?? false,
      until,
      ...sizes,
      isAwake: () => watch(path, silenceMs),
      guard: act => (isOpen ? commitLock.commit(() => guarded(act)) : guarded(act)),
      onFault: found => {
        fault ??= found;
        onFault(found);
      },
    });
    isOpen = true;
    return storeOf({
      path,
      commitLock,
      claim,
      opened,
      room: new CommitRoom(path, sizes.segmentBytes),
      faultOf: () => fault,
    });
  } catch (error) {
    claim.release();
    throw error;
  }
}

type Parts = {
  readonly path: string;
  readonly commitLock: CommitLock;
  readonly claim: Claim;
  readonly opened: OpenLedger;
  readonly room: CommitRoom;
  readonly faultOf: () => StoreFault | null;
};

function storeOf({ path, commitLock, claim, opened: { lmdb, log, checkpoints }, room, faultOf }: Parts): LedgerStore {
  const hide = startHeartbeat(path);
  // The time of a turn is never before that of the turn before it, even if the system's clock was set back while the store was closed.
  const clock = systemClock(appliedIn(readerOf(lmdb))?.atUs ?? 0);
  const keepFreeList = freeListKeeper(lmdb, 'meta');
  let fault: StoreFault | null = null;

  /** Writes the batch to LMDB, then appends it to the log. Runs in a transaction, so other threads see the batch only when it is in the log. */
  function append(batch: WriteBatch): void {
    claim.assertOurs();
    const bytes = write(lmdb, batch);
    const nowUs = clock.nowUs();
    lmdb.databases.meta.put(appliedKey, encodeApplied(log.last + 1, nowUs));
    if (checkpoints.keepsFreeList) keepFreeList();
    room.assertFor(bytes);
    try {
      log.append(batch, nowUs, checkpoints.number);
    } catch (error) {
      if (error instanceof StoreFull) throw error;
      throw new StoreFault(`the commit log cannot be written: ${(error as Error).message}`, { cause: error });
    }
  }

  function failed(error: unknown, isLogged: boolean): Error {
    const known = error instanceof StoreFull || error instanceof StoreFault ? error : asStoreError(error, path);
    // If the turn is in the log, the next start applies it. So this service must not go on without it.
    const failure =
      isLogged && known instanceof StoreFull
        ? new StoreFault(`a turn is in the commit log, but cannot be applied: ${known.message}`, { cause: error })
        : known;
    if (failure instanceof StoreFault) fault ??= failure;
    return failure;
  }

  return {
    ...readerOf(lmdb),
    batch: () => new WriteBatch(),
    get applied() {
      return log.last;
    },
    commit(batch: Batch) {
      const known = fault ?? faultOf();
      if (known !== null) throw known;
      const before = log.last;
      try {
        checkpoints.admit();
        commitLock.commit(() => lmdb.env.transactionSync(() => append(batch as WriteBatch)));
        checkpoints.committed();
      } catch (error) {
        throw failed(error, log.last > before);
      }
    },
    checkpoint: () => checkpoints.complete(),
    get segment() {
      return log.position.segment;
    },
    get archiveFailure() {
      return log.archiveFailure;
    },
    archiveTo: (directory, report) => log.archiveTo(directory, report),
    archived: () => log.archived(),
    close() {
      const isWhole = (fault ?? faultOf()) === null && claim.isOurs();
      fault ??= new StoreFault(`${path} has been closed`);
      try {
        if (isWhole) checkpoints.complete(true);
      } finally {
        checkpoints.close();
        log.close();
        void lmdb.env.close();
        hide();
        claim.release();
        commitLock.close();
      }
    },
  };
}

/** The wanted sizes, reduced on a small disk, but not below their minimums. */
function fitting(path: string, wanted: LogSizes = defaultLogSizes): LogSizes {
  return {
    segmentBytes: wholePages(Math.max(segmentBytesMin, Math.min(wanted.segmentBytes, diskPart(path, segmentPart)))),
    churnBytes: Math.max(churnBytesMin, Math.min(wanted.churnBytes, diskPart(path, churnPart))),
  };
}

function wholePages(bytes: number): number {
  return Math.floor(bytes / 4096) * 4096;
}
