// Copies the segments of a commit log to a directory beside the backups (`backups.log`). From a backup and these copies, a state can be
// restored as it was at a given time.
import { existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { syncDirectoryAside } from '../durable-file.ts';
import { storeIdPattern } from '../store/store-id.ts';
import { listSegments, type Segment } from './segments.ts';

/**
 * The maximum number of full segments that wait for their copies, once the directory of the copies is known. If more wait, the oldest one
 * that is not being copied is released without a copy. Otherwise the log would fill its own disk while the backup disk is full.
 */
export const waitingMax = 16;
const retryMs = 10_000;
const chunkBytes = 2 ** 20;

const prefix = 'log-';

/** The directory below `into` that has the copies of this store's log. */
export function archiveOf(into: string, storeId: string): string {
  return join(into, prefix + storeId);
}

/** The id of the store whose log is archived in a directory of this name; null if an archive cannot have this name. */
export function archivedStore(name: string): string | null {
  const id = name.slice(prefix.length);
  return name.startsWith(prefix) && storeIdPattern.test(id) ? id : null;
}

/** The greatest number of an archived segment; 0 if the archive has no segment. */
export function newestArchived(directory: string): number {
  return existsSync(directory) ? (listSegments(directory).at(-1)?.number ?? 0) : 0;
}

/** `usedBytes`: the number of bytes that turns take up in the segment. */
export type KeptSegment = Segment & { readonly usedBytes: number };

export type ArchiveReport = (message: string, fields: object) => void;

/** Full segments wait until they are copied, and are then released. Segments that are still in use are copied up to the end of their turns. */
export class ArchiveQueue {
  readonly #release: (segments: readonly Segment[]) => void;
  #target: { readonly directory: string; readonly report: ArchiveReport } | null = null;
  #waiting: KeptSegment[] = [];
  #inUse: readonly KeptSegment[] = [];
  /** How many bytes of each segment have been copied, by the number of the segment. */
  readonly #copied = new Map<number, number>();
  #copying: { readonly number: number; readonly ended: Promise<void> } | null = null;
  #retry: NodeJS.Timeout | null = null;
  #failure: string | null = null;
  #isClosed = false;

  /** `release` is called with segments that nothing needs any more. */
  constructor(release: (segments: readonly Segment[]) => void) {
    this.#release = release;
  }

  /** Why the last copy failed. Null: the last copy succeeded, or there was no copy. */
  get failure(): string | null {
    return this.#failure;
  }

  /** Copies segments to this directory from now on. If a failed copy waits for its retry, copies at once instead. */
  archiveTo(directory: string, report: ArchiveReport): void {
    if (directory !== this.#target?.directory) this.#copied.clear();
    this.#target = { directory, report };
    this.#stopRetry();
    this.#next();
  }

  /**
   * Adds full segments to the queue; those without turns are released at once. `inUse`: segments that are also copied, but must not be
   * released yet.
   */
  push(full: readonly KeptSegment[], inUse: readonly KeptSegment[]): void {
    this.#release(full.filter(({ usedBytes }) => usedBytes === 0));
    this.#waiting.push(...full.filter(({ usedBytes }) => usedBytes > 0));
    this.#inUse = inUse;
    this.#next();
    // There is no target while a command writes the state of a stopped service, or before a service calls `archiveTo`. The segments then
    // stay on disk until a service with `backups.log` copies them.
    if (this.#target !== null) this.#giveUp(this.#target.report);
  }

  #giveUp(report: ArchiveReport): void {
    while (this.#waiting.length > waitingMax) {
      const oldest = this.#waiting.find(({ number }) => number !== this.#copying?.number)!;
      this.#released(oldest);
      report('a segment of the commit log was not archived: no restore can pass it', { segment: oldest.number });
    }
  }

  #released(segment: KeptSegment): void {
    this.#waiting = this.#waiting.filter(waiting => waiting !== segment);
    this.#copied.delete(segment.number);
    this.#release([segment]);
  }

  /** Resolves when everything is copied, or cannot be copied at present. */
  async settled(): Promise<void> {
    while (this.#copying !== null) await this.#copying.ended;
  }

  close(): void {
    this.#isClosed = true;
    this.#stopRetry();
  }

  #stopRetry(): void {
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
  }

  #next(): void {
    if (this.#target === null || this.#copying !== null || this.#retry !== null) return;
    const copiedOf = ({ number }: KeptSegment) => this.#copied.get(number) ?? 0;
    for (const segment of this.#waiting) if (copiedOf(segment) >= segment.usedBytes) this.#released(segment);
    const segment = [...this.#waiting, ...this.#inUse].find(each => copiedOf(each) < each.usedBytes);
    if (segment === undefined) return;
    const { directory } = this.#target;
    const ended = copy(segment, directory, copiedOf(segment)).then(
      () => this.#copyEnded(segment, directory, null),
      (error: Error) => this.#copyEnded(segment, directory, error),
    );
    this.#copying = { number: segment.number, ended };
  }

  #copyEnded({ number, usedBytes }: KeptSegment, directory: string, error: Error | null): void {
    this.#copying = null;
    if (this.#isClosed) return;
    this.#failure = error?.message ?? null;
    if (error !== null) {
      this.#copied.delete(number);
      this.#target!.report('the commit log cannot be archived', { into: directory, error: error.message });
      this.#retry = setTimeout(() => {
        this.#retry = null;
        this.#next();
      }, retryMs).unref();
    } else if (directory === this.#target!.directory) {
      this.#copied.set(number, usedBytes);
    }
    this.#next();
  }
}

/** Copies the used bytes of a segment from offset `from` on. A new copy gets its name when it is whole and on disk. */
async function copy({ path, usedBytes }: KeptSegment, directory: string, from: number): Promise<void> {
  const to = join(directory, basename(path));
  if (from > 0) {
    await copyBytes(path, await open(to, 'r+'), from, usedBytes);
    return;
  }
  await makeDirectory(resolve(directory));
  const partial = `${to}.partial`;
  await rm(partial, { force: true });
  try {
    await copyBytes(path, await open(partial, 'wx', 0o600), 0, usedBytes);
    await rename(partial, to);
  } catch (error) {
    await rm(partial, { force: true }).catch(() => {});
    throw error;
  }
  await syncDirectoryAside(directory);
}

/** As `makeDirectory` of durable-file.ts, but a disk that hangs does not block the ledger thread. */
async function makeDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncDirectoryAside(dirname(made));
}

async function copyBytes(path: string, target: FileHandle, from: number, to: number): Promise<void> {
  const chunk = Buffer.alloc(chunkBytes);
  try {
    const source = await open(path, 'r');
    try {
      for (let at = from; at < to; ) {
        const { bytesRead } = await source.read(chunk, 0, Math.min(chunkBytes, to - at), at);
        if (bytesRead === 0) throw new Error(`${path} ends at byte ${at}`);
        for (let written = 0; written < bytesRead; )
          written += (await target.write(chunk, written, bytesRead - written, at + written)).bytesWritten;
        at += bytesRead;
      }
    } finally {
      await source.close();
    }
    await target.sync();
  } finally {
    await target.close();
  }
}
