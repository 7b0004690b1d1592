// Packed bytes (MessagePack): the one form in which payloads, results and packets travel and rest.
import { Packr } from 'msgpackr';
import type { Json } from './json-value.ts';

export type { Json, JsonObject } from './json-value.ts';

// Plain maps only: packed parts can then be spliced into larger ones without decoding.
const plain = new Packr({ useRecords: false, mapsAsObjects: true, variableMapSize: true, encodeUndefinedAsNil: true });
// Records describe the shape of an object once per packet: right for many alike messages between threads.
const shaped = new Packr({ useRecords: true, maxSharedStructures: 0, encodeUndefinedAsNil: false });

/** Packs a value into bytes of its own. */
export function pack(value: unknown): Buffer {
  return plain.pack(value);
}

/** The value of packed bytes. Buffers inside are views of the given bytes. */
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
