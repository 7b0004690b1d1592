// Appends turns to the commit log. When `append` returns, the turn is durable, because `append` waits for the disk once for each segment
// that gets a part of the turn. Almost every turn lies in a single segment.
import { closeSync, fdatasyncSync, rmSync, writeSync } from 'node:fs';
import type { WriteBatch } from '../store/batch.ts';
import { StoreFull } from '../store/store.ts';
import { ArchiveQueue, type ArchiveReport, type KeptSegment } from './archive.ts';
import { crc32c } from './checksum.ts';
import { headerBytes, type Lsn, partBytesMax, roomOf, writeHeader } from './part.ts';
import { type OpenSegment, type Segment, Segments } from './segments.ts';
import { encodedBytes, encodeTurn } from './turn-codec.ts';

/** The last write of a turn ends at a multiple of this, so that the kernel need not read the rest of a page first. */
const pageBytes = 4096;
/** A larger buffer is used for one turn, and then dropped. */
const keptBytesMax = 8 * 2 ** 20;
const noSpace = new Set<unknown>(['ENOSPC', 'EDQUOT']);

export type LogPosition = { readonly segment: number; readonly offset: number };

export type LogWriterOptions = {
  readonly directory: string;
  /** The number of the first segment of this writer. All segments in the directory have smaller numbers. */
  readonly segment: number;
  readonly segmentBytesMax: number;
  readonly epoch: number;
  /** The number of the last turn that is in the ledger already. */
  readonly last: Lsn;
  /** Segments in the directory that nothing needs. */
  readonly unused: readonly Segment[];
  /** Segments that the previous checkpoint needs, or that are not archived yet. */
  readonly older?: readonly KeptSegment[];
  /** Whether segments are kept until they are archived. */
  readonly keeps?: boolean;
};

type Piece = { readonly segment: OpenSegment; readonly offset: number; readonly start: number; readonly bytes: number };

export class LogWriter {
  readonly #epoch: number;
  readonly #segments: Segments;
  #current: OpenSegment;
  #offset = 0;
  #last: Lsn;
  #appendedBytes = 0;
  /** The segments before the current one that `releaseBefore` has not released. */
  #older: KeptSegment[];
  /** Null: segments are not archived. */
  readonly #queue: ArchiveQueue | null;
  #buffer = Buffer.alloc(2 ** 16);

  constructor(options: LogWriterOptions) {
    const { directory, segment, segmentBytesMax, epoch, last, unused, older = [], keeps = false } = options;
    this.#older = [...older];
    this.#epoch = epoch;
    this.#last = last;
    this.#segments = new Segments(directory, segmentBytesMax);
    this.#segments.recycle(unused);
    this.#queue = keeps ? new ArchiveQueue(segments => this.#segments.recycle(segments)) : null;
    // Segments keep the size to which they grew under earlier owners of the state directory. Half of that size is given, because `take`
    // doubles it.
    this.#current = this.#segments.take(segment, Math.floor(this.#segments.spareBytes / 2));
    this.#prepareNext();
  }

  get last(): Lsn {
    return this.#last;
  }

  get position(): LogPosition {
    return { segment: this.#current.number, offset: this.#offset };
  }

  /** The number of bytes that were appended since the writer was opened. */
  get appendedBytes(): number {
    return this.#appendedBytes;
  }

  /**
   * Appends the next turn. `checkpoint`: the number of the newest complete checkpoint. Throws StoreFull if there is no room for a segment;
   * the log is then unchanged. After any other error it is unknown whether the turn is in the log.
   */
  append(batch: WriteBatch<string>, atUs: number, checkpoint: number): void {
    const turnBytes = encodedBytes(batch);
    const buffer = this.#bufferFor(turnBytes);
    encodeTurn(batch, buffer, headerBytes);
    const turn = buffer.subarray(headerBytes, headerBytes + turnBytes);
    const common = { lsn: this.#last + 1, epoch: this.#epoch, atUs, checkpoint, turnBytes, turnChecksum: crc32c(turn) };
    const pieces = this.#place(turnBytes);
    const touched = new Set<OpenSegment>();
    for (const [part, { segment, offset, start, bytes }] of pieces.entries()) {
      // In the buffer, the header of a later part overwrites the end of the part before. The file has those bytes already.
      writeHeader(buffer.subarray(start), { ...common, segment: segment.number, part, bytes });
      const isLast = part === pieces.length - 1;
      const room = roomOf(bytes);
      const end = Math.min(segment.bytes, isLast ? Math.ceil((offset + room) / pageBytes) * pageBytes : offset + room);
      const saved = isLast ? null : Buffer.from(buffer.subarray(start + headerBytes + bytes, start + end - offset));
      buffer.fill(0, start + headerBytes + bytes, start + end - offset);
      writeAll(segment.descriptor, buffer.subarray(start, start + end - offset), offset);
      saved?.copy(buffer, start + headerBytes + bytes);
      touched.add(segment);
    }
    for (const segment of touched) fdatasyncSync(segment.descriptor);
    this.#advance(pieces);
  }

  /** Decides where each part of a turn goes, and opens the segments that the parts need. */
  #place(turnBytes: number): Piece[] {
    const pieces: Piece[] = [];
    let segment = this.#current;
    let offset = this.#offset;
    const opened: OpenSegment[] = [];
    for (let start = 0; start < turnBytes; ) {
      if (offset === segment.bytes) {
        segment = this.#takeAfter(segment, opened);
        offset = 0;
      }
      const bytes = Math.min(turnBytes - start, partBytesMax, segment.bytes - offset - headerBytes);
      pieces.push({ segment, offset, start, bytes });
      offset += roomOf(bytes);
      start += bytes;
    }
    return pieces;
  }

  #takeAfter(segment: OpenSegment, opened: OpenSegment[]): OpenSegment {
    try {
      const next = this.#segments.take(segment.number + 1, segment.bytes);
      opened.push(next);
      return next;
    } catch (error) {
      for (const { descriptor, path } of opened) {
        closeSync(descriptor);
        rmSync(path, { force: true });
      }
      if (noSpace.has((error as NodeJS.ErrnoException).code))
        throw new StoreFull(`there is no room for a segment of the log: ${(error as Error).message}`, { cause: error });
      throw error;
    }
  }

  #advance(pieces: readonly Piece[]): void {
    this.#last++;
    for (const { segment, offset, bytes } of pieces) {
      if (segment !== this.#current) {
        closeSync(this.#current.descriptor);
        const { number, bytes: size, path } = this.#current;
        this.#older.push({ number, bytes: size, path, usedBytes: size });
        this.#current = segment;
      }
      this.#offset = offset + roomOf(bytes);
      this.#appendedBytes += roomOf(bytes);
    }
    if (pieces.length > 1 || this.#offset > this.#current.bytes / 4) this.#prepareNext();
  }

  /**
   * Called when a checkpoint at this position is complete. Recycles the segments before the position. If segments are archived, the archive
   * queue recycles each of them, after it has copied the segment or given it up.
   */
  releaseBefore({ segment }: LogPosition): void {
    const released = this.#older.filter(({ number }) => number < segment);
    this.#older = this.#older.filter(({ number }) => number >= segment);
    if (this.#queue === null) this.#segments.recycle(released);
    else this.#queue.push(released, this.#inUse());
    this.#prepareNext();
  }

  get keeps(): boolean {
    return this.#queue !== null;
  }

  archiveTo(directory: string, report: ArchiveReport): void {
    this.#queue?.archiveTo(directory, report);
  }

  get archiveFailure(): string | null {
    return this.#queue?.failure ?? null;
  }

  async archived(): Promise<void> {
    this.#queue?.push([], this.#inUse());
    await this.#queue?.settled();
  }

  #inUse(): KeptSegment[] {
    const { number, bytes, path } = this.#current;
    return [...this.#older, { number, bytes, path, usedBytes: this.#offset }];
  }

  #prepareNext(): void {
    this.#segments.prepare(this.#current.number + 1, this.#current.bytes);
  }

  close(): void {
    this.#queue?.close();
    this.#segments.close();
    closeSync(this.#current.descriptor);
  }

  /** Memory for a turn with its header and the padding to the end of a page. It is aligned for the checksum. */
  #bufferFor(turnBytes: number): Buffer {
    const needed = headerBytes + turnBytes + 2 * pageBytes;
    if (needed <= this.#buffer.length) return this.#buffer;
    const made = Buffer.alloc(2 ** Math.ceil(Math.log2(needed)));
    if (made.length <= keptBytesMax) this.#buffer = made;
    return made;
  }
}

function writeAll(descriptor: number, bytes: Buffer, position: number): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at, bytes.length - at, position + at);
}
