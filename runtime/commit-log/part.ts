// The commit log has each turn as one or more parts. Each part begins at a multiple of 512 bytes, with a header of its own.
//
// The header of every part repeats the length and the checksum of the whole turn. A turn counts only if all of its parts are there and their
// bytes have this checksum, so that parts of two turns never make up a third turn.
import { crc32c } from './checksum.ts';

/** The unit that a disk writes as a whole, in bytes. Parts begin at multiples of this unit. */
export const sectorBytes = 512;
export const headerBytes = 64;
/** The maximum number of bytes of a turn in one part: with its header, a part has at most 4 MiB. */
export const partBytesMax = 4 * 2 ** 20 - headerBytes;

/** The number of a turn in the order of the log, counted from 1. */
export type Lsn = number;

export type PartHeader = {
  /** The number of the segment that the part was written to. A segment that is used again gets a new number. */
  readonly segment: number;
  readonly lsn: Lsn;
  /** The epoch of the owner that appended the turn. Each owner of the state directory has a greater epoch than the owner before. */
  readonly epoch: number;
  /** When the turn was appended, in µs since the Unix epoch. */
  readonly atUs: number;
  /** The number of the newest checkpoint that was complete when the turn was appended. */
  readonly checkpoint: number;
  /** The place of the part in the turn, counted from 0. */
  readonly part: number;
  /** The length of the part without its header and padding. */
  readonly bytes: number;
  readonly turnBytes: number;
  readonly turnChecksum: number;
};

const magic = 0x31_4c_47_48;
const checksumAt = 4;
const summedAt = 8;

/** Writes the header to the first `headerBytes` bytes. */
export function writeHeader(into: Buffer, header: PartHeader): void {
  into.writeUInt32LE(magic, 0);
  putNumber(into, header.segment, 8);
  putNumber(into, header.lsn, 16);
  putNumber(into, header.epoch, 24);
  putNumber(into, header.atUs, 32);
  putNumber(into, header.checkpoint, 40);
  into.writeUInt32LE(header.part, 48);
  into.writeUInt32LE(header.bytes, 52);
  into.writeUInt32LE(header.turnBytes, 56);
  into.writeUInt32LE(header.turnChecksum, 60);
  into.writeUInt32LE(crc32c(into.subarray(summedAt, headerBytes)), checksumAt);
}

/** The header at this place of a segment; null if the place has no valid header that was written for this segment. */
export function readHeader(from: Buffer, at: number, segment: number): PartHeader | null {
  if (at + headerBytes > from.length || from.readUInt32LE(at) !== magic) return null;
  if (from.readUInt32LE(at + checksumAt) !== crc32c(from.subarray(at + summedAt, at + headerBytes))) return null;
  if (numberAt(from, at + 8) !== segment) return null;
  return {
    segment,
    lsn: numberAt(from, at + 16),
    epoch: numberAt(from, at + 24),
    atUs: numberAt(from, at + 32),
    checkpoint: numberAt(from, at + 40),
    part: from.readUInt32LE(at + 48),
    bytes: from.readUInt32LE(at + 52),
    turnBytes: from.readUInt32LE(at + 56),
    turnChecksum: from.readUInt32LE(at + 60),
  };
}

/** The room that a part of this many bytes takes, with its header and padding. */
export function roomOf(bytes: number): number {
  return Math.ceil((headerBytes + bytes) / sectorBytes) * sectorBytes;
}

/** `value` must be an integer from 0 to 2^53 − 1. */
function putNumber(into: Buffer, value: number, at: number): void {
  into.writeUInt32LE(value % 2 ** 32, at);
  into.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4);
}

function numberAt(from: Buffer, at: number): number {
  return from.readUInt32LE(at) + from.readUInt32LE(at + 4) * 2 ** 32;
}
