// Blocks that were looked into lately, taken apart: for reads that come back to the same ones.
import type { BlockKey } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Block, decodeBlock } from '../records/block.ts';
import { type KeyText, keyText } from '../records/open.ts';

/** So many are kept, and none that is longer. */
const blocksMax = 64;
const blockBytesMax = 64 * 2 ** 10;

/** A block never changes, but it may be pruned while it is in here. */
export class BlockCache {
  readonly #reader: Reader;
  readonly #blocks = new Map<KeyText, Block>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** For whoever has something that is pruned with the block, and so knows that it is there. */
  find(key: BlockKey): Block | undefined {
    return this.#blocks.get(keyText(key)) ?? this.read(key);
  }

  /** As it is in the store; undefined when it is not. */
  read(key: BlockKey): Block | undefined {
    const bytes = this.#reader.get('blocks', key);
    if (!bytes) return undefined;
    const block = decodeBlock(bytes);
    if (bytes.length > blockBytesMax) return block;
    if (this.#blocks.size >= blocksMax) this.#blocks.delete(this.#blocks.keys().next().value!);
    this.#blocks.set(keyText(key), block);
    return block;
  }
}
