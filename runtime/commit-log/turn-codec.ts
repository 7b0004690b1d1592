// Encodes and decodes the writes of a turn. The encoding contains the names of the tables, so that a version with other tables can decode
// the turn.
import { WriteBatch } from '../store/batch.ts';

/** Stands in place of the length of a value if the key is removed. */
const removed = 0xffff_ffff;
const recordBytes = 7;
const nameBytesMax = 255;

export function encodedBytes(batch: WriteBatch<string>): number {
  let bytes = 1;
  for (const name of new Set(batch.tables)) bytes += 1 + name.length;
  const { keys, values } = batch;
  for (let n = 0; n < keys.length; n++) bytes += recordBytes + keys[n]!.length + (values[n]?.length ?? 0);
  return bytes;
}

export function encodeTurn(batch: WriteBatch<string>, into: Buffer, start: number): void {
  const { tables, keys, values } = batch;
  const numbers = new Map<string, number>();
  for (const name of tables) if (!numbers.has(name)) numbers.set(name, numbers.size);
  let at = start;
  into[at++] = numbers.size;
  for (const name of numbers.keys()) {
    into[at++] = name.length;
    at += into.write(name, at, 'latin1');
  }
  for (let n = 0; n < keys.length; n++) {
    const key = keys[n]!;
    const value = values[n];
    into[at] = numbers.get(tables[n]!)!;
    into.writeUInt16LE(key.length, at + 1);
    into.writeUInt32LE(value === undefined ? removed : value.length, at + 3);
    at += recordBytes;
    into.set(key, at);
    at += key.length;
    if (value === undefined) continue;
    into.set(value, at);
    at += value.length;
  }
}

/** Decodes a batch, whose keys and values are views of the bytes. Throws a RangeError if the bytes are not a batch. */
export function decodeTurn(bytes: Buffer): WriteBatch<string> {
  const names: string[] = [];
  let at = 1;
  for (let count = bytes.readUInt8(0); count > 0; count--) {
    const length = bytes.readUInt8(at);
    names.push(slice(bytes, at + 1, Math.min(length, nameBytesMax)).toString('latin1'));
    at += 1 + length;
  }
  const batch = new WriteBatch<string>();
  while (at < bytes.length) {
    const table = names[bytes.readUInt8(at)];
    const keyBytes = bytes.readUInt16LE(at + 1);
    const valueBytes = bytes.readUInt32LE(at + 3);
    if (table === undefined) throw new RangeError('a write names no table');
    const key = slice(bytes, at + recordBytes, keyBytes);
    at += recordBytes + keyBytes;
    if (valueBytes === removed) {
      batch.remove(table, key);
      continue;
    }
    batch.put(table, key, slice(bytes, at, valueBytes));
    at += valueBytes;
  }
  return batch;
}

function slice(bytes: Buffer, at: number, length: number): Buffer {
  if (at + length > bytes.length) throw new RangeError('a write ends after the bytes');
  return bytes.subarray(at, at + length);
}
