// Maintains the index of tags. The index follows the ledger's table of tagged jobs instead of the journal, so it also covers unsettled
// jobs.
import { keyAfter } from '../../runtime/bytes.ts';
import type { BlockKey } from '../../runtime/ids.ts';
import { readable } from '../../runtime/store/set-aside.ts';
import type { Batch, IndexTable } from '../../runtime/store/store.ts';
import { decodeBlock, groupEnd, newestBlock } from '../job/records/block.ts';
import { readPruneMark } from '../job/records/journal.ts';
import { tagList } from '../job/records/tags.ts';
import { encodeRanges } from '../job/records/tree.ts';
import type { IndexStores } from './consumer.ts';
import { hashesIn, taggedUpTo, tagHash, tagKey, tagsName } from './records/tags.ts';

/** The maximum number of blocks that one call of `take` handles. */
const blocksPerStep = 64;
/** The maximum number of blocks that one call of `prune` compares with the ledger. */
export const sweptPerStep = 4_096;

export class TagIndex {
  readonly #stores: IndexStores;
  /** The block after which `take` continues. Null: it begins with the oldest one. */
  #upTo: BlockKey | null;
  /** The key at which `prune` continues. Undefined: it begins at the oldest indexed block. */
  #swept: Buffer | undefined;
  /**
   * The number of the prune mark (job/records/journal.ts) when `prune` last returned false; -1: `prune` has not returned false yet.
   * While the number stays the same, `prune` returns false at once.
   */
  #pruned = -1;

  constructor(stores: IndexStores) {
    this.#stores = stores;
    this.#upTo = taggedUpTo(stores.index);
    // If an older ledger was restored, the index may have blocks that the ledger lacks. The index then continues after the ledger's newest
    // block.
    const newest = newestBlock(stores.ledger);
    if (this.#upTo && newest && Buffer.compare(newest, this.#upTo) < 0) this.#upTo = newest;
  }

  /** Indexes some of the tagged blocks after `#upTo`. True: there may be more. */
  take(): boolean {
    const { ledger, index } = this.#stores;
    ledger.refresh();
    if (ledger.count('tagged') === 0) return false;
    const range = { limit: blocksPerStep, ...(this.#upTo && { from: keyAfter(this.#upTo) }) };
    const keys = Array.from(ledger.keys('tagged', range), key => Buffer.from(key));
    const newest = keys.at(-1);
    if (!newest) return false;
    const batch = index.batch();
    for (const key of keys) this.#takeOne(key, batch);
    batch.put('positions', tagsName, newest);
    index.commit(batch);
    this.#upTo = newest;
    return keys.length === blocksPerStep;
  }

  #takeOne(key: BlockKey, batch: Batch<IndexTable>): void {
    const bytes = this.#stores.ledger.get('blocks', key);
    const block = bytes && readable(() => decodeBlock(bytes));
    // A block that has been pruned or cannot be decoded is skipped.
    if (!block) return;
    const rangesByTag = new Map<string, number[]>();
    for (const [place, start] of block.starts.entries()) {
      const tags = block.group(place).options?.tags;
      if (tags === undefined) continue;
      const end = groupEnd(block, place);
      for (const tag of tagList(tags)) {
        const ranges = rangesByTag.get(tag);
        if (!ranges) rangesByTag.set(tag, [start, end]);
        else if (ranges.at(-1) === start) ranges[ranges.length - 1] = end;
        else ranges.push(start, end);
      }
    }
    const hashes: Uint8Array[] = [];
    for (const [tag, ranges] of rangesByTag) {
      const hash = tagHash(tag);
      hashes.push(hash);
      batch.put('tags', tagKey(hash, key), encodeRanges(ranges));
    }
    batch.put('tagged_blocks', key, Buffer.concat(hashes));
  }

  /**
   * Compares the next `sweptPerStep` indexed blocks with the ledger, and removes the blocks that the ledger has pruned.
   * True: blocks were removed, and more blocks may follow. The next call continues with the following blocks; after the
   * last block, it begins again with the oldest.
   */
  prune(): boolean {
    const { ledger, index } = this.#stores;
    ledger.refresh();
    index.refresh();
    const { number } = readPruneMark(ledger);
    if (number === this.#pruned) return false;
    const range = { limit: sweptPerStep, ...(this.#swept && { from: this.#swept }) };
    const entries = Array.from(index.scan('tagged_blocks', range), ({ key, value }) => ({
      key: Buffer.from(key),
      hashes: hashesIn(value),
    }));
    const batch = index.batch();
    for (const { key, hashes } of entries) {
      if (ledger.peek('tagged', key)) continue;
      for (const hash of hashes) batch.remove('tags', tagKey(hash, key));
      batch.remove('tagged_blocks', key);
    }
    const hasGone = batch.size > 0;
    if (hasGone) index.commit(batch);
    const isEnd = entries.length < sweptPerStep;
    this.#swept = isEnd ? undefined : keyAfter(entries.at(-1)!.key);
    const goesOn = hasGone && !isEnd;
    if (!goesOn) this.#pruned = number;
    return goesOn;
  }
}
