// A cache of decoded blocks, for reads that need the same blocks repeatedly.
import type { BlockKey } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Block, decodeBlock } from '../records/block.ts';
import { type KeyText, keyText } from '../records/open.ts';

/** The maximum number of cached blocks, and the maximum length of each in bytes. */
export type BlockCacheLimits = { readonly blocksMax: number; readonly bytesMax: number };
const manyBlocks: BlockCacheLimits = { blocksMax: 64, bytesMax: 64 * 2 ** 10 };
/** The limits of a cache for reads in the order of job ids: the jobs of a block follow each other, so two blocks are enough. */
export const twoBlocks: BlockCacheLimits = { blocksMax: 2, bytesMax: Number.POSITIVE_INFINITY };

/** A block never changes, but it may be pruned while it is cached. */
export class BlockCache {
  readonly #reader: Reader;
  readonly #limits: BlockCacheLimits;
  readonly #blocks = new Map<KeyText, Block>();

  constructor(reader: Reader, limits = manyBlocks) {
    this.#reader = reader;
    this.#limits = limits;
  }

  /**
   * The block, from the cache or from the store. Undefined: neither has it. A cached block may have been pruned; where this matters, call
   * `read`.
   */
  find(key: BlockKey): Block | undefined {
    return this.#blocks.get(keyText(key)) ?? this.read(key);
  }

  /** As `find`, for lists: a block that cannot be decoded is left out, as if it were not stored. */
  findUsable(key: BlockKey): Block | undefined {
    return readable(() => this.find(key));
  }

  /** As `read`, for lists: a block that cannot be decoded is left out, as if it were not stored. */
  readUsable(key: BlockKey): Block | undefined {
    return readable(() => this.read(key));
  }

  /** The block as the store has it now. Undefined: the store does not have it. */
  read(key: BlockKey): Block | undefined {
    const bytes = this.#reader.get('blocks', key);
    if (!bytes) return undefined;
    const block = decodeBlock(bytes);
    const { blocksMax, bytesMax } = this.#limits;
    if (bytes.length > bytesMax) return block;
    if (this.#blocks.size >= blocksMax) this.#blocks.delete(this.#blocks.keys().next().value!);
    this.#blocks.set(keyText(key), block);
    return block;
  }
}
