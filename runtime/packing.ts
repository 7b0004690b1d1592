// Packs values as MessagePack, the form in which payloads and results are sent and stored, and in which messages travel between threads.
import { Packr } from 'msgpackr';
import type { Json } from './json-value.ts';

export type { Json, JsonObject } from './json-value.ts';

// Both packers ignore methods named `toJSON`, because a payload may have data under this key.

// Writes only plain MessagePack, without msgpackr's extension for records, so that packed parts can be joined without decoding them.
const plain = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  encodeUndefinedAsNil: true,
  useToJSON: false,
});
// Uses msgpackr's extension for records: the keys of an object are usually left out if the packer has packed an object with the same keys before.
const inSequence = (): Packr =>
  new Packr({ useRecords: true, sequential: true, encodeUndefinedAsNil: false, useToJSON: false });

/** Packs a value. The result may be a view of a larger buffer, but its bytes are never overwritten. */
export function pack(value: unknown): Buffer {
  return plain.pack(value);
}

/** Decodes a packed value. Binary data in the result is a view of the given bytes. */
export function unpack<T = Json>(bytes: Uint8Array): T {
  return plain.unpack(bytes) as T;
}

/** Packs the messages of one direction of a link (link.ts). */
export class PacketPacker {
  #packr = inSequence();

  pack(messages: readonly unknown[]): Buffer {
    try {
      return this.#packr.pack(messages);
    } catch (error) {
      // The other thread does not receive the lists of keys that this packet would have introduced. A new packer sends all lists of keys
      // again.
      this.#packr = inSequence();
      throw error;
    }
  }
}

/** Must unpack all packets of one packer, in the order in which they were packed. */
export class PacketUnpacker {
  readonly #packr = inSequence();

  unpack<T>(bytes: Uint8Array): T[] {
    return this.#packr.unpack(bytes) as T[];
  }
}

/** The empty map, packed. */
export const packedEmpty: Uint8Array = Uint8Array.of(0x80);
export const packedNull: Uint8Array = Uint8Array.of(0xc0);
