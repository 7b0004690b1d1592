// A block of runs that were accepted together and have not begun.
import type { BlockKey } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';

/** `hash`: the hash of the definition that was in force when the runs were accepted. */
export type AcceptedBlock = { readonly key: BlockKey; readonly count: number; readonly hash: Uint8Array };
type PackedBlock = readonly [count: number, hash: Uint8Array];

export function encodeAccepted({ count, hash }: AcceptedBlock): Uint8Array {
  return pack([count, hash] satisfies PackedBlock);
}

export function decodeAccepted(key: BlockKey, value: Uint8Array): AcceptedBlock {
  const [count, hash] = unpack<PackedBlock>(value);
  return { key, count, hash };
}
