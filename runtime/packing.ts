// Packs values as MessagePack: the form in which payloads and results are sent and stored, and in which messages travel between threads.
import { Packr } from 'msgpackr';
import type { Json } from './json-value.ts';

export type { Json, JsonObject } from './json-value.ts';

// Writes only plain MessagePack, without msgpackr's extension for records: packed parts can then be joined without decoding them.
const plain = new Packr({ useRecords: false, mapsAsObjects: true, variableMapSize: true, encodeUndefinedAsNil: true });
// Uses msgpackr's extension for records, which describes each shape of object once per packet. This saves bytes and time.
const shaped = new Packr({ useRecords: true, maxSharedStructures: 0, encodeUndefinedAsNil: false });

/** Packs a value. The result may be a view of a larger buffer, but its bytes are never overwritten. */
export function pack(value: unknown): Buffer {
  return plain.pack(value);
}

/** Decodes a packed value. Binary data in the result is a view of the given bytes. */
export function unpack<T = Json>(bytes: Uint8Array): T {
  return plain.unpack(bytes) as T;
}

/** Packs messages for another thread, which unpacks them with `unpackMessages`. */
export function packMessages(messages: readonly unknown[]): Buffer {
  return shaped.pack(messages);
}

export function unpackMessages<T>(bytes: Uint8Array): T[] {
  return shaped.unpack(bytes) as T[];
}

/** The empty map, packed. */
export const packedEmpty: Uint8Array = Uint8Array.of(0x80);
export const packedNull: Uint8Array = Uint8Array.of(0xc0);
