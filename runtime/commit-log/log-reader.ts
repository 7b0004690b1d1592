// Reads the commit log from a position on, and distinguishes its end from damage. Also reads archived segments.
//
// The last turn may be torn: a crash interrupted its append, so none of its replies was sent. A broken turn that a later turn follows is
// damage, because the broken turn was durable once. `readLog` then skips nothing and throws.
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { withFile } from '../durable-file.ts';
import { StoreFault } from '../store/store.ts';
import { crc32c } from './checksum.ts';
import type { LogPosition } from './log-writer.ts';
import { headerBytes, type Lsn, type PartHeader, readHeader, roomOf, sectorBytes } from './part.ts';
import { listSegments, type Segment } from './segments.ts';

const windowBytes = 8 * 2 ** 20;

export type LogStart = LogPosition & {
  /** The number of the last turn before this position. */
  readonly lsn: Lsn;
  readonly epoch: number;
  /** The number of the checkpoint at this position. */
  readonly number: number;
};

/** `bytes` are valid until the next turn is read. */
export type LoggedTurn = { readonly lsn: Lsn; readonly atUs: number; readonly bytes: Buffer };

/** Thrown if the log is damaged before its end. The log is left as it is. */
export class LogDamaged extends StoreFault {
  /** `last`: the last turn before the damage. `later`: a turn after it. */
  constructor(path: string, position: LogPosition, last: Lsn, later: Lsn) {
    super(
      `the commit log is damaged at byte ${position.offset} of ${path}: turn ${last + 1} cannot be read, but turn ${later} after it can; ` +
        `restore a backup, or give up everything after turn ${last} with "headgate state repair --until ${last}"`,
    );
  }
}

/**
 * Yields the turns after `from`, up to the end of the log or up to and including the turn `until`. Throws LogDamaged at damage, StoreFault if
 * the segment of `from` is missing or reading fails, and the system's error if a segment cannot be opened.
 */
export function* readLog(
  segments: readonly Segment[],
  from: LogStart,
  until: Lsn = Number.POSITIVE_INFINITY,
): Generator<LoggedTurn, void, void> {
  const files = segmentsFrom(segments, from);
  try {
    let at: Place = { file: 0, offset: from.offset };
    let last = from.lsn;
    while (last < until) {
      at = files.withRoom(at);
      const found = turnAt(files, at, last + 1, from.epoch);
      if (found === null) {
        const later = laterTurn(files, at, last + 1, from.epoch);
        if (later === null) return;
        const { number, path } = files.segment(Math.min(at.file, files.count - 1));
        throw new LogDamaged(path, { segment: number, offset: at.offset }, last, later);
      }
      last++;
      yield { lsn: last, atUs: found.atUs, bytes: found.bytes };
      at = found.end;
    }
  } finally {
    files.close();
  }
}

/**
 * Yields the turns that follow `after` in archived segments, up to the first missing one. If a segment ends with a torn turn, the next
 * segment continues with the turn of the same number.
 */
export function* readArchive(segments: readonly Segment[], after: Lsn): Generator<LoggedTurn, void, void> {
  const files = new SegmentWindows(segments);
  try {
    let last = after;
    for (let at: Place = { file: 0, offset: 0 }; at.file < files.count; ) {
      const header = files.header(at);
      // This part belongs to a turn that began in an earlier segment.
      if (header !== null && header.part > 0) {
        at = files.withRoom({ file: at.file, offset: at.offset + roomOf(header.bytes) });
        continue;
      }
      if (header !== null && header.lsn > last + 1) return;
      const found = header && turnAt(files, at, header.lsn, header.epoch);
      if (found === null) {
        at = { file: at.file + 1, offset: 0 };
        continue;
      }
      if (header!.lsn === last + 1) {
        last++;
        yield { lsn: last, atUs: found.atUs, bytes: found.bytes };
      }
      at = files.withRoom(found.end);
    }
  } finally {
    files.close();
  }
}

/** The number of bytes that parts of turns take up in the segment. */
export function usedBytes(segment: Segment): number {
  const files = new SegmentWindows([segment]);
  try {
    let offset = 0;
    for (let header = files.header({ file: 0, offset }); header !== null; header = files.header({ file: 0, offset }))
      offset += roomOf(header.bytes);
    return offset;
  } finally {
    files.close();
  }
}

/** The number of the turn to which the first part in the segment belongs. Null: no turn was appended to the segment, or its head is damaged. */
function firstTurn(segment: Segment): Lsn | null {
  const head = Buffer.alloc(headerBytes);
  withFile(segment.path, 'r', file => readSync(file, head, 0, headerBytes, 0));
  return readHeader(head, 0, segment.number)?.lsn ?? null;
}

/** Whether turns were appended to the segment. If so, the segment begins with a part of a turn. */
export function hasTurns(segment: Segment): boolean {
  return firstTurn(segment) !== null;
}

/**
 * Throws StoreFault if turns in the log were appended after a newer checkpoint than `from`. The pages of `from` may then have been reused,
 * so its roots must not be written back. Checks only the headers of the parts.
 */
export function assertNewest(segments: readonly Segment[], from: LogStart): void {
  const files = segmentsFrom(segments, from);
  try {
    for (let at = files.withRoom({ file: 0, offset: from.offset }); ; ) {
      const header = files.header(at);
      if (header === null) return;
      if (header.checkpoint > from.number)
        throw new StoreFault(
          `the checkpoint is number ${from.number}, but the commit log has turns after checkpoint ${header.checkpoint}: ` +
            'the file of the checkpoint is an old copy; restore the whole directory from a backup',
        );
      at = files.withRoom({ file: at.file, offset: at.offset + roomOf(header.bytes) });
    }
  } finally {
    files.close();
  }
}

function segmentsFrom(segments: readonly Segment[], { segment }: LogStart): SegmentWindows {
  const needed = segments.filter(({ number }) => number >= segment);
  if (needed[0]?.number !== segment)
    throw new StoreFault(
      `segment ${segment} of the commit log, with which the checkpoint begins, is missing: restore the whole directory from a backup`,
    );
  return new SegmentWindows(needed);
}

type Place = { readonly file: number; readonly offset: number };
type FoundTurn = { readonly bytes: Buffer; readonly atUs: number; readonly end: Place };

/** The turn with this number and epoch, if it begins at `start` and is whole; otherwise null. */
function turnAt(files: SegmentWindows, start: Place, lsn: Lsn, epoch: number): FoundTurn | null {
  const first = files.header(start);
  if (first === null || first.lsn !== lsn || first.epoch !== epoch || first.part !== 0) return null;
  const { turnBytes, turnChecksum, atUs } = first;
  const pieces: Buffer[] = [];
  let header: PartHeader | null = first;
  let at = start;
  for (let part = 0, bytes = 0; ; part++) {
    if (header === null || !isPartOf(first, header, part)) return null;
    const body = files.body(at, header.bytes);
    bytes += header.bytes;
    if (body === null || header.bytes === 0 || bytes > turnBytes) return null;
    at = { file: at.file, offset: at.offset + roomOf(header.bytes) };
    if (part === 0 && bytes === turnBytes) {
      return crc32c(body) === turnChecksum ? { bytes: body, atUs, end: at } : null;
    }
    pieces.push(Buffer.from(body));
    if (bytes === turnBytes) break;
    at = files.withRoom(at);
    header = files.header(at);
  }
  const whole = Buffer.concat(pieces);
  return crc32c(whole) === turnChecksum ? { bytes: whole, atUs, end: at } : null;
}

function isPartOf(first: PartHeader, header: PartHeader, part: number): boolean {
  return (
    header.part === part &&
    header.lsn === first.lsn &&
    header.epoch === first.epoch &&
    header.turnBytes === first.turnBytes &&
    header.turnChecksum === first.turnChecksum
  );
}

/**
 * The number of the first turn after turn `lsn`, of this epoch or a later one, that has a part at or after `from`; null if there is none.
 */
function laterTurn(files: SegmentWindows, from: Place, lsn: Lsn, epoch: number): Lsn | null {
  for (let at = files.withRoom(from); at.file < files.count; ) {
    const header = files.header(at);
    if (header !== null && header.lsn > lsn && header.epoch >= epoch) return header.lsn;
    at = files.withRoom({ file: at.file, offset: at.offset + sectorBytes });
  }
  return null;
}

/** Reads segments through a window of bounded size. */
class SegmentWindows {
  readonly #segments: readonly Segment[];
  readonly #window = Buffer.alloc(windowBytes);
  #open: { readonly file: number; readonly descriptor: number } | null = null;
  #from = 0;
  #bytes = 0;

  constructor(segments: readonly Segment[]) {
    this.#segments = segments;
  }

  get count(): number {
    return this.#segments.length;
  }

  segment(file: number): Segment {
    return this.#segments[file]!;
  }

  /** Returns `at`, or the beginning of the next segment if `at` is the end of its segment. */
  withRoom(at: Place): Place {
    const segment = this.#segments[at.file];
    return segment !== undefined && at.offset + sectorBytes > segment.bytes ? { file: at.file + 1, offset: 0 } : at;
  }

  header(at: Place): PartHeader | null {
    const segment = this.#segments[at.file];
    if (segment === undefined) return null;
    const found = this.#read(at, headerBytes);
    return found === null ? null : readHeader(found, 0, segment.number);
  }

  body(at: Place, bytes: number): Buffer | null {
    return this.#read(at, headerBytes + bytes)?.subarray(headerBytes) ?? null;
  }

  /** Reads this many bytes, which are valid until the next call. Null: the segment has fewer, or the window cannot hold them. */
  #read({ file, offset }: Place, bytes: number): Buffer | null {
    if (bytes > windowBytes) return null;
    if (this.#open?.file !== file || offset < this.#from || offset + bytes > this.#from + this.#bytes) {
      if (this.#open?.file !== file) this.#switchTo(file);
      this.#from = offset;
      this.#bytes = readAll(this.#open!.descriptor, this.#window, offset, basename(this.segment(file).path));
    }
    const start = offset - this.#from;
    return start + bytes > this.#bytes ? null : this.#window.subarray(start, start + bytes);
  }

  #switchTo(file: number): void {
    this.close();
    this.#open = { file, descriptor: openSync(this.segment(file).path, 'r') };
  }

  close(): void {
    if (this.#open !== null) closeSync(this.#open.descriptor);
    this.#open = null;
  }
}

function readAll(descriptor: number, into: Buffer, position: number, name: string): number {
  let at = 0;
  try {
    for (let read = -1; read !== 0 && at < into.length; at += read)
      read = readSync(descriptor, into, at, into.length - at, position + at);
  } catch (error) {
    throw new StoreFault(`${name} of the commit log cannot be read: ${(error as Error).message}`, { cause: error });
  }
  return at;
}

/** Whether the archive has the whole of turn `lsn` + 1. */
export function hasTurnAfter(directory: string, lsn: Lsn): boolean {
  const segments = existsSync(directory) ? listSegments(directory) : [];
  for (const _ of readArchive(segments.slice(firstNeeded(segments, lsn)), lsn)) return true;
  return false;
}

/**
 * The index of the first segment in which turns after turn `lsn` may begin. A segment ends where the next one begins, which may be in the middle of
 * a turn. Opens few segments, because their first turns ascend. A segment whose first turn is unknown counts as one of a later turn.
 */
export function firstNeeded(segments: readonly Segment[], lsn: Lsn): number {
  let [from, to] = [0, Math.max(0, segments.length - 1)];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((firstTurn(segments[middle + 1]!) ?? Infinity) > lsn) to = middle;
    else from = middle + 1;
  }
  return from;
}
