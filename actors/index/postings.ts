// Collects the words of logs, and writes the postings of a chunk: for each word, the logs that contain it.
import type { Batch, IndexTable, Reader } from '../../runtime/store/store.ts';
import { extended } from './records/log-set.ts';
import { postingKey } from './records/search-layout.ts';

export class Postings {
  readonly #index: Reader<IndexTable>;
  #known: KnownKeys;
  /**
   * By word: the numbers, within the chunk, of the logs that contain the word. A single number is kept without a list, because most
   * words occur in only one log.
   */
  #gathered = new Map<string, number | number[]>();
  /** The number of pairs of a word and a log that were collected and not yet written. */
  count = 0;

  /** `isNew`: whether the chunk that is being filled has no logs yet. */
  constructor(index: Reader<IndexTable>, isNew: boolean) {
    this.#index = index;
    this.#known = new KnownKeys(isNew);
  }

  /** Records that the log contains the word. Must be called in the order of the logs' numbers. */
  add(word: string, log: number): void {
    const logs = this.#gathered.get(word);
    if (logs === undefined) this.#gathered.set(word, log);
    else if (typeof logs === 'number') {
      if (logs === log) return;
      this.#gathered.set(word, [logs, log]);
    } else {
      if (logs[logs.length - 1] === log) return;
      logs.push(log);
    }
    this.count++;
  }

  write(chunk: number, batch: Batch<IndexTable>): void {
    for (const [word, logs] of this.#gathered) {
      const key = postingKey(chunk, word);
      const stored = this.#known.add(key) ? this.#index.get('postings', key) : undefined;
      batch.put('postings', key, extended(stored, typeof logs === 'number' ? [logs] : logs));
    }
    this.#gathered = new Map();
    this.count = 0;
  }

  /** Begins the next chunk. */
  turn(): void {
    this.#known = new KnownKeys(true);
  }
}

/** A Bloom filter that recognizes most new keys. Reading the index for each key would take as long as writing it. */
class KnownKeys {
  readonly #bits = new Uint32Array(2 ** 16);

  constructor(isNew: boolean) {
    if (!isNew) this.#bits.fill(~0);
  }

  /** Adds the key. False: the key is certainly new. True: it may have been added before. */
  add(key: Uint8Array): boolean {
    // The hash is FNV-1a. Its upper 21 bits select a bit of the filter.
    let hash = 0x811c9dc5;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key[i]!, 0x01000193);
    const place = hash >>> 16;
    const bit = 1 << ((hash >>> 11) & 31);
    const before = this.#bits[place]!;
    this.#bits[place] = before | bit;
    return (before & bit) !== 0;
  }
}
