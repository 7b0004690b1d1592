// Decoded records, cached by the value, which never changes in the store in memory. Callers must not modify them.
import { type Block, decodeBlock } from '../../../actors/job/records/block.ts';
import { keyText, OpenBlock } from '../../../actors/job/records/open.ts';
import { WriteBatch } from '../../../runtime/store/batch.ts';
import type { Batch } from '../../../runtime/store/store.ts';

const blocks = new WeakMap<Uint8Array, Block>();
const opens = new WeakMap<Uint8Array, OpenBlock>();

export function blockIn(value: Uint8Array): Block {
  return remembered(blocks, value, () => decodeBlock(value));
}

export function openIn(key: Uint8Array, value: Uint8Array): OpenBlock {
  return remembered(opens, value, () => OpenBlock.decode(keyText(key), value));
}

/** A copy of the batch: committed values must not change when the ledger reuses its buffers. */
export function ownCopy(batch: Batch): WriteBatch {
  const { tables, keys, values } = batch as WriteBatch;
  const own = new WriteBatch();
  for (let place = 0; place < tables.length; place++) {
    const value = values[place];
    if (value === undefined) own.remove(tables[place]!, keys[place]!);
    else own.put(tables[place]!, keys[place]!, Buffer.from(value));
  }
  return own;
}

function remembered<T>(known: WeakMap<Uint8Array, T>, value: Uint8Array, decode: () => T): T {
  let found = known.get(value);
  if (found === undefined) {
    found = decode();
    known.set(value, found);
  }
  return found;
}
