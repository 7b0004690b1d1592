// Packed bytes (MessagePack): the only form in which payloads, results and packets are sent and stored.
import { Packr } from 'msgpackr';
import type { Json } from './json-value.ts';

export type { Json, JsonObject } from './json-value.ts';

// Uses plain maps only, so that packed parts can be spliced into larger values without decoding.
const plain = new Packr({ useRecords: false, mapsAsObjects: true, variableMapSize: true, encodeUndefinedAsNil: true });
// Uses records, which describe the shape of objects once per packet: efficient for many similar messages between threads.
const shaped = new Packr({ useRecords: true, maxSharedStructures: 0, encodeUndefinedAsNil: false });

/** Packs a value into a buffer of its own. */
export function pack(value: unknown): Buffer {
  return plain.pack(value);
}

/** Decodes a packed value. Binary data in it is a view of the given bytes. */
export function unpack<T = Json>(bytes: Uint8Array): T {
  return plain.unpack(bytes) as T;
}

/** Packs messages between threads; the receiver unpacks with `unpackMessages`. */
export function packMessages(messages: readonly unknown[]): Buffer {
  return shaped.pack(messages);
}

export function unpackMessages<T>(bytes: Uint8Array): T[] {
  return shaped.unpack(bytes) as T[];
}

/** The empty map. */
export const packedEmpty: Uint8Array = Uint8Array.of(0x80);
/** Null. */
export const packedNull: Uint8Array = Uint8Array.of(0xc0);
