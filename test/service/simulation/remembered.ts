// Records as they were decoded first: a value of the store in memory never changes. Nobody may change what is decoded.
import { type Block, decodeBlock } from '../../../actors/job/records/block.ts';
import { keyText, OpenBlock } from '../../../actors/job/records/open.ts';

const blocks = new WeakMap<Uint8Array, Block>();
const opens = new WeakMap<Uint8Array, OpenBlock>();

export function blockIn(value: Uint8Array): Block {
  return remembered(blocks, value, () => decodeBlock(value));
}

export function openIn(key: Uint8Array, value: Uint8Array): OpenBlock {
  return remembered(opens, value, () => OpenBlock.decode(keyText(key), value));
}

function remembered<T>(known: WeakMap<Uint8Array, T>, value: Uint8Array, decode: () => T): T {
  let found = known.get(value);
  if (found === undefined) {
    found = decode();
    known.set(value, found);
  }
  return found;
}
