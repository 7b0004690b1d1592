// A value in parts represents a large packed value. It consists of references to bytes that are already in the store, and of literal bytes.
//
//   0xc1 (no packed value begins with it) | length of the represented bytes (4) | packed list of sections
import { bufferOf } from './bytes.ts';
import { pack, packedNull, unpack } from './packing.ts';
import { type Sliced, wholly } from './slices.ts';
import type { Reader } from './store/store.ts';

/**
 * A section is either literal bytes, or a list of spans of stored values whose keys begin with the same bytes (`base`). `at` has
 * three numbers for each span: the number that follows `base` in the key (4 bytes), and the start and end of the span in the value.
 */
export type Section = Uint8Array | ValueSpans;
export type ValueSpans = { readonly base: Uint8Array; readonly at: readonly number[] };
type PackedSection = Uint8Array | [base: Uint8Array, ...at: number[]];

export type PartReader = {
  get(key: Uint8Array): Uint8Array | undefined;
  has(key: Uint8Array): boolean;
};

export const partedMark = 0xc1;
const headBytes = 5;
/** The length of the pieces that `chunksOf` yields; the last piece may be shorter. */
const chunkBytes = 256 * 2 ** 10;

/** Thrown if a value in parts refers to a stored value that no longer exists. */
export class PartGone extends Error {}
const gone = 'a part of the value is no longer stored';

export function isParted(value: Uint8Array): boolean {
  return value[0] === partedMark;
}

/** The length of a packed value. For a value in parts, the length of the bytes that it represents. */
export function lengthOf(value: Uint8Array): number {
  return isParted(value) ? bufferOf(value).readUInt32LE(1) : value.length;
}

export function encodeParted(sections: readonly Section[]): Uint8Array {
  const packed = pack(sections.map(each => (each instanceof Uint8Array ? each : [each.base, ...each.at])));
  const parted = Buffer.allocUnsafeSlow(headBytes + packed.length);
  parted[0] = partedMark;
  parted.writeUInt32LE(bytesOf(sections), 1);
  parted.set(packed, headBytes);
  return parted;
}

/** The length of the bytes that the sections represent. */
export function bytesOf(sections: readonly Section[]): number {
  return sections.reduce((sum, section) => sum + sectionBytes(section), 0);
}

function sectionBytes(section: Section): number {
  if (section instanceof Uint8Array) return section.length;
  const { at } = section;
  let bytes = 0;
  for (let i = 0; i < at.length; i += 3) bytes += at[i + 2]! - at[i + 1]!;
  return bytes;
}

export function sectionsOf(parted: Uint8Array): Section[] {
  return unpack<PackedSection[]>(parted.subarray(headBytes)).map(section => {
    if (section instanceof Uint8Array) return section;
    const [base, ...at] = section;
    return { base, at };
  });
}

/** The sections of any packed value. A value that is not in parts is itself the only section. */
export function asSections(value: Uint8Array): readonly Section[] {
  return isParted(value) ? sectionsOf(value) : [value];
}

/** The sections that represent the bytes between two offsets. */
export function sectionsWithin(sections: readonly Section[], from: number, to: number): Section[] {
  const within: Section[] = [];
  let start = 0;
  for (const section of sections) {
    const end = start + sectionBytes(section);
    if (end > from && start < to) within.push(cut(section, from - start, to - start));
    start = end;
  }
  return within;
}

/**
 * Regroups sections without changing their bytes: each sequence of literal sections becomes literal sections of `bytesMax` bytes. The last
 * literal section of a sequence may be shorter.
 */
export function* joinedSections(sections: readonly Section[], bytesMax: number): Iterable<Section> {
  let pieces: Uint8Array[] = [];
  let room = bytesMax;
  for (const section of sections) {
    if (!(section instanceof Uint8Array)) {
      if (pieces.length > 0) yield Buffer.concat(pieces);
      yield section;
      [pieces, room] = [[], bytesMax];
      continue;
    }
    for (let from = 0; from < section.length; ) {
      const piece = section.subarray(from, from + room);
      pieces.push(piece);
      from += piece.length;
      room -= piece.length;
      if (room > 0) continue;
      yield Buffer.concat(pieces);
      [pieces, room] = [[], bytesMax];
    }
  }
  if (pieces.length > 0) yield Buffer.concat(pieces);
}

function cut(section: Section, from: number, to: number): Section {
  if (section instanceof Uint8Array) return section.subarray(Math.max(0, from), to);
  const at: number[] = [];
  let start = 0;
  for (let i = 0; i < section.at.length; i += 3) {
    const [number, first, last] = [section.at[i]!, section.at[i + 1]!, section.at[i + 2]!];
    const [low, high] = [Math.max(first, first + from - start), Math.min(last, first + to - start)];
    if (low < high) at.push(number, low, high);
    start += last - first;
  }
  return { base: section.base, at };
}

/** The keys of the stored values to which a value in parts refers. */
export function* partKeys(parted: Uint8Array): Iterable<Uint8Array> {
  for (const section of sectionsOf(parted)) {
    if (section instanceof Uint8Array) continue;
    for (let i = 0; i < section.at.length; i += 3) {
      if (i === 0 || section.at[i] !== section.at[i - 3]) yield partKey(section.base, section.at[i]!);
    }
  }
}

/** Throws PartGone if the value in parts refers to a stored value that no longer exists. */
export function checkParts(parts: PartReader, parted: Uint8Array): void {
  for (const key of partKeys(parted)) if (!parts.has(key)) throw new PartGone(gone);
}

function partKey(base: Uint8Array, number: number): Uint8Array {
  const key = Buffer.allocUnsafe(base.length + 4);
  key.set(base);
  key.writeUInt32BE(number, base.length);
  return key;
}

/** The bytes that a value in parts represents: one piece for each span and each literal section. Throws PartGone. */
export function* partsOf(parts: PartReader, parted: Uint8Array): Iterable<Uint8Array> {
  for (const section of sectionsOf(parted)) {
    if (section instanceof Uint8Array) {
      yield section;
      continue;
    }
    const { base, at } = section;
    let value: Uint8Array | undefined;
    for (let i = 0; i < at.length; i += 3) {
      if (i === 0 || at[i] !== at[i - 3]) value = parts.get(partKey(base, at[i]!));
      if (value === undefined) throw new PartGone(gone);
      yield value.subarray(at[i + 1]!, at[i + 2]!);
    }
  }
}

/** The bytes that a value in parts represents, in pieces of `chunkBytes`. Throws PartGone. */
export function* chunksOf(parts: PartReader, parted: Uint8Array): Iterable<Uint8Array> {
  let left = lengthOf(parted);
  let chunk = Buffer.allocUnsafeSlow(Math.min(chunkBytes, left));
  let filled = 0;
  for (const part of partsOf(parts, parted)) {
    for (let from = 0; from < part.length; ) {
      const taken = Math.min(part.length - from, chunk.length - filled);
      chunk.set(part.subarray(from, from + taken), filled);
      from += taken;
      filled += taken;
      if (filled < chunk.length) continue;
      yield chunk;
      left -= filled;
      chunk = Buffer.allocUnsafeSlow(Math.min(chunkBytes, left));
      filled = 0;
    }
  }
}

/** Returns the whole packed value. If it is a value in parts, reads and joins the parts. Throws PartGone. */
export function wholeOf(parts: PartReader, value: Uint8Array): Uint8Array {
  return wholly(wholeInSteps(parts, value));
}

/** Like `wholeOf`, but in steps. Each step copies one piece of `partsOf`. */
export function* wholeInSteps(parts: PartReader, value: Uint8Array): Sliced<Uint8Array> {
  if (!isParted(value)) return value;
  const whole = Buffer.allocUnsafeSlow(lengthOf(value));
  let at = 0;
  for (const part of partsOf(parts, value)) {
    whole.set(part, at);
    at += part.length;
    yield;
  }
  return whole;
}

/** The whole packed value, for display; packed null if the value refers to a stored value that no longer exists. */
export function shownOf(reader: Reader, value: Uint8Array): Uint8Array {
  try {
    return wholeOf(partsIn(reader), value);
  } catch (error) {
    if (error instanceof PartGone) return packedNull;
    throw error;
  }
}

/** Reads parts from the table `arrivals`. */
export function partsIn(reader: Reader): PartReader {
  return { get: key => reader.get('arrivals', key), has: key => reader.peek('arrivals', key) !== undefined };
}
