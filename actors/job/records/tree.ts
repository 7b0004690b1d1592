// The table of trees lists, for each root, the blocks that contain descendants of the root.
import type { JobId } from '../../../runtime/ids.ts';
import type { Batch } from '../../../runtime/store/store.ts';
import { type Block, groupEnd } from './block.ts';
import { endOfBlocks } from './list-indexes.ts';
import { keyText } from './open.ts';

/**
 * Writes an entry for each root that has descendants in the block. The entry lists their indexes as pairs `from, to` (`to` is not
 * included), four bytes per number.
 */
export function writeTree(batch: Batch, key: Uint8Array, block: Block): void {
  const ranges = new Map<string, number[]>();
  for (const [place, start] of block.starts.entries()) {
    const { root } = block.group(place);
    if (!root) continue;
    const end = groupEnd(block, place);
    const name = keyText(root);
    const known = ranges.get(name);
    if (!known) ranges.set(name, [start, end]);
    else if (known.at(-1) === start) known[known.length - 1] = end;
    else known.push(start, end);
  }
  for (const [root, numbers] of ranges) {
    batch.put('tree', Buffer.concat([Buffer.from(root, 'latin1'), key]), encodeRanges(numbers));
  }
}

/** The key range of the entries of a root. */
export function treeRange(root: JobId): { readonly from: Uint8Array; readonly to: Uint8Array } {
  return { from: root, to: Buffer.concat([root, endOfBlocks]) };
}

export function encodeRanges(ranges: readonly number[]): Uint8Array {
  return Buffer.from(Uint32Array.from(ranges).buffer);
}

/** The pairs `from, to` of an entry, one after another in one list. */
export function rangesOf(value: Uint8Array): number[] {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  const ranges: number[] = [];
  for (let at = 0; at < value.length; at += 4) ranges.push(view.getUint32(at, true));
  return ranges;
}

/** The indexes in these ranges. */
export function indexesIn(ranges: readonly number[]): number[] {
  const indexes: number[] = [];
  for (let pair = 0; pair < ranges.length; pair += 2) {
    for (let index = ranges[pair]!; index < ranges[pair + 1]!; index++) indexes.push(index);
  }
  return indexes;
}
