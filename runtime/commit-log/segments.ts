// The files of the commit log. Each is a segment of a fixed size. A new file is written with zeros and synced before it is used, so that an
// append overwrites blocks that the file system has already allocated. A file that nothing needs any more may become a segment with a new
// number.
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  linkSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '../durable-file.ts';

export const firstSegmentBytes = 2 ** 20;
const chunkBytes = 2 ** 20;
/** The maximum number of unused segments that `recycle` keeps. */
const sparesMax = 1;
const mode = 0o600;
const nameDigits = 12;
const namePattern = /^(\d{12})\.log$/;
const unfinishedPrefix = 'unfinished-';

export type Segment = { readonly number: number; readonly bytes: number; readonly path: string };
/** A segment that turns are appended to. */
export type OpenSegment = Segment & { readonly descriptor: number };

export function segmentPath(directory: string, number: number): string {
  return join(directory, `${String(number).padStart(nameDigits, '0')}.log`);
}

/** The segments in a directory, in the order of their numbers. */
export function listSegments(directory: string): Segment[] {
  const found: Segment[] = [];
  for (const name of readdirSync(directory)) {
    const digits = namePattern.exec(name)?.[1];
    if (digits === undefined) continue;
    const path = join(directory, name);
    found.push({ number: Number(digits), bytes: statSync(path).size, path });
  }
  return found.sort((one, other) => one.number - other.number);
}

/** Makes and recycles segments. `prepare` makes the next segment while turns are still appended to the current one. */
export class Segments {
  readonly #directory: string;
  readonly #bytesMax: number;
  /** Segments that nothing needs any more. */
  #spares: Segment[] = [];
  #next: OpenSegment | null = null;
  #isPreparing = false;
  /** The number for the segment in preparation. Null: no segment is wanted any more, so the one in preparation becomes a spare. */
  #wanted: number | null = null;
  #isClosed = false;

  /** `bytesMax`: the maximum size of a new segment. */
  constructor(directory: string, bytesMax: number) {
    this.#directory = directory;
    this.#bytesMax = bytesMax;
    for (const name of readdirSync(directory))
      if (name.startsWith(unfinishedPrefix)) rmSync(join(directory, name), { force: true });
  }

  /** Opens the segment with this number, which must be greater than the numbers of all others. Throws the errors of the file system. */
  take(number: number, previousBytes: number): OpenSegment {
    const next = this.#next;
    this.#wanted = null;
    if (next?.number === number) {
      this.#next = null;
      return next;
    }
    const bytes = this.#sizeAfter(previousBytes);
    const spare = this.#takeSpare(bytes);
    if (spare !== undefined) return this.#adopt(spare.path, number);
    const path = join(this.#directory, `${unfinishedPrefix}${number}-now`);
    const descriptor = openSync(path, 'wx', mode);
    try {
      const zeros = Buffer.alloc(Math.min(chunkBytes, bytes));
      for (let at = 0; at < bytes; ) at += writeSync(descriptor, zeros, 0, Math.min(zeros.length, bytes - at), at);
      fdatasyncSync(descriptor);
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    } finally {
      closeSync(descriptor);
    }
    return this.#adopt(path, number);
  }

  /** Begins to make the segment with this number, so that `take` finds it ready. If this preparation fails, `take` makes the segment. */
  prepare(number: number, previousBytes: number): void {
    if (this.#isPreparing || this.#next !== null || this.#isClosed) return;
    const bytes = this.#sizeAfter(previousBytes);
    const spare = this.#takeSpare(bytes);
    if (spare !== undefined) {
      try {
        this.#next = this.#adopt(spare.path, number);
      } catch {
        // The caller's turn or checkpoint is already on disk and must not fail. `take` makes the segment, and throws if that fails too.
      }
      return;
    }
    this.#isPreparing = true;
    this.#wanted = number;
    const path = join(this.#directory, `${unfinishedPrefix}${number}`);
    void writeZeros(path, bytes)
      .then(
        () => this.#offer(path, bytes),
        () => rmSync(path, { force: true }),
      )
      // Without the prepared segment, `take` makes a segment, and throws if this fails too.
      .catch(() => {})
      .finally(() => {
        this.#isPreparing = false;
      });
  }

  /** Makes the prepared file the next segment, or a spare if `take` was called meanwhile. Removes it if `close` was called. */
  #offer(path: string, bytes: number): void {
    if (this.#isClosed) rmSync(path, { force: true });
    else if (this.#wanted !== null) this.#next = this.#adopt(path, this.#wanted);
    else this.#spares.push({ number: 0, bytes, path });
  }

  /**
   * Takes segments that nothing needs any more. Of these and the spares so far, keeps the `sparesMax` largest that do not exceed
   * `bytesMax`, and removes the others.
   */
  recycle(segments: readonly Segment[]): void {
    try {
      for (const segment of segments) {
        // A crash may have left a file with two names, an old and a new one. One name is removed here, so the file is recycled only once.
        if (statSync(segment.path).nlink > 1) rmSync(segment.path);
        else this.#spares.push(segment);
      }
      const kept = this.#spares.filter(({ bytes }) => bytes <= this.#bytesMax);
      kept.sort((one, other) => other.bytes - one.bytes);
      const removed = this.#spares.filter(spare => !kept.slice(0, sparesMax).includes(spare));
      this.#spares = kept.slice(0, sparesMax);
      for (const { path } of removed) rmSync(path, { force: true });
    } catch {
      // A file that cannot be removed stays until the next start. The checkpoint is already complete, and must not fail because of such a
      // file.
    }
  }

  /** The size of the largest spare; 0 if there is none. */
  get spareBytes(): number {
    return this.#spares[0]?.bytes ?? 0;
  }

  close(): void {
    this.#isClosed = true;
    if (this.#next !== null) closeSync(this.#next.descriptor);
    this.#next = null;
  }

  #sizeAfter(previousBytes: number): number {
    return Math.min(this.#bytesMax, Math.max(firstSegmentBytes, 2 * previousBytes));
  }

  /** Takes a spare of at least this size off the list for good, even if its use fails later. Undefined: no spare is large enough. */
  #takeSpare(bytes: number): Segment | undefined {
    const place = this.#spares.findIndex(spare => spare.bytes >= bytes);
    return place < 0 ? undefined : this.#spares.splice(place, 1)[0];
  }

  /** Names the file as the segment with this number. The name is on disk before anything is appended. */
  #adopt(from: string, number: number): OpenSegment {
    const path = segmentPath(this.#directory, number);
    // Unlike a rename, a link replaces no file, so a process that was wrongly taken for dead cannot take the segment of its successor.
    linkSync(from, path);
    rmSync(from);
    syncDirectory(this.#directory);
    const descriptor = openSync(path, constants.O_RDWR);
    return { number, bytes: fstatSync(descriptor).size, path, descriptor };
  }
}

async function writeZeros(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    const zeros = Buffer.alloc(Math.min(chunkBytes, bytes));
    for (let at = 0; at < bytes; at += zeros.length) await file.write(zeros, 0, Math.min(zeros.length, bytes - at), at);
    await file.datasync();
  } finally {
    await file.close();
  }
}
