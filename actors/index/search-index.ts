// Keeps the search index: takes the words of each log that says something, and forgets logs that were pruned.
import type { Batch, IndexTable } from '../../runtime/store/store.ts';
import { AttemptShelf, entryAt, type JournalEntry, usKey } from '../job/journal.ts';
import type { JournalConsumer, Shelf } from './consumer.ts';
import { facetsOf } from './facets.ts';
import { chunkLogs, extended, LogSet } from './log-set.ts';
import { numberKey, pageLogs, pagesPerChunk, postingKey, postingRange, Records, writeRecord } from './shelves.ts';
import { textsOf, wordsOf } from './words.ts';

/** Words of logs that are gathered before they are written. */
const gatheredMax = 400_000;
/** Postings that are removed in one commit. */
const removedMax = 20_000;

/** Under which its position is kept. */
export const searchName = 'search';

export class SearchIndex implements JournalConsumer {
  readonly name = searchName;
  readonly #shelf: Shelf;
  readonly #attempts: AttemptShelf;
  readonly #records: Records;
  /** The number of the next log. */
  #next: number;
  /** Word -> numbers of the logs that have it, within their chunk. */
  #gathered = new Map<string, number[]>();
  #count = 0;
  /** Records of the page that is being filled. */
  #page: Buffer[] = [];
  /** Where the sweep through the chunks is. */
  #swept = 0;

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
    this.#attempts = new AttemptShelf(shelf.ledger);
    this.#records = new Records(shelf.index);
    this.#next = this.#records.bounds.end;
  }

  take(entries: readonly JournalEntry[], batch: Batch<IndexTable>): number {
    let taken = 0;
    for (const entry of entries) {
      taken++;
      if (!entry.telling) continue;
      this.#takeOne(entry, batch);
      if (this.#count >= gatheredMax) break;
    }
    this.#writePostings(batch);
    this.#writePage(batch, false);
    return taken;
  }

  #takeOne(entry: JournalEntry, batch: Batch<IndexTable>): void {
    const attempt = this.#attempts.find(entry);
    // It was pruned meanwhile.
    if (!attempt) return;
    const number = this.#next % chunkLogs;
    const words = new Set(facetsOf(entry));
    for (const text of textsOf(attempt.body)) for (const word of wordsOf(text)) words.add(word);
    for (const word of words) {
      const numbers = this.#gathered.get(word);
      if (numbers) numbers.push(number);
      else this.#gathered.set(word, [number]);
    }
    this.#count += words.size;
    this.#page.push(writeRecord(entry.record, entry));
    this.#next++;
    if (this.#next % pageLogs === 0) this.#writePage(batch, true);
    if (this.#next % chunkLogs === 0) this.#writePostings(batch);
  }

  #writePage(batch: Batch<IndexTable>, isFull: boolean): void {
    if (this.#page.length === 0) return;
    const number = Math.floor((this.#next - 1) / pageLogs);
    const before = this.#shelf.index.get('logs', numberKey(number));
    batch.put('logs', numberKey(number), Buffer.concat(before ? [before, ...this.#page] : this.#page));
    this.#page = [];
    if (isFull) this.#records.refresh();
  }

  #writePostings(batch: Batch<IndexTable>): void {
    if (this.#gathered.size === 0) return;
    const chunk = Math.floor((this.#next - 1) / chunkLogs);
    for (const [word, numbers] of this.#gathered) {
      const key = postingKey(chunk, word);
      batch.put('postings', key, extended(this.#shelf.index.get('postings', key), numbers));
    }
    this.#gathered = new Map();
    this.#count = 0;
  }

  /** One chunk each time: which of its logs are gone; a chunk of which all are goes as a whole. */
  prune(upToUs: number, batch: Batch<IndexTable>): boolean {
    this.#records.refresh();
    const { first, end } = this.#records.bounds;
    const chunk = Math.max(this.#swept, Math.floor(first / chunkLogs));
    const from = chunk * chunkLogs;
    if (from >= end || this.#records.placeOf(from).atUs > upToUs) {
      this.#swept = 0;
      return false;
    }
    const to = Math.min(end, from + chunkLogs);
    const gone = this.#goneIn(chunk, from, to, upToUs);
    if (gone.count < chunkLogs) {
      if (gone.count > 0) batch.put('pruned', numberKey(chunk), gone.encode());
      this.#swept = chunk + 1;
    } else this.#removeSome(chunk, gone, batch);
    return true;
  }

  #goneIn(chunk: number, from: number, to: number, upToUs: number): LogSet {
    const gone = new LogSet();
    const known = this.#shelf.index.get('pruned', numberKey(chunk));
    if (known) gone.add(known);
    let commitUs = -1;
    let commit: Uint8Array | undefined;
    for (let log = from; log < to; log++) {
      if (gone.has(log - from)) continue;
      const { atUs, place } = this.#records.placeOf(log);
      if (atUs > upToUs) break;
      if (atUs !== commitUs) commit = this.#shelf.ledger.get('journal', usKey(atUs));
      commitUs = atUs;
      if (!commit || !entryAt(atUs, place, commit)) gone.put(log - from);
    }
    return gone;
  }

  /** The postings first: until they are gone, the chunk is there and known to be empty. */
  #removeSome(chunk: number, gone: LogSet, batch: Batch<IndexTable>): void {
    let removed = 0;
    for (const { key } of this.#shelf.index.scan('postings', { ...postingRange(chunk, ''), limit: removedMax })) {
      batch.remove('postings', Buffer.from(key));
      removed++;
    }
    if (removed === removedMax) {
      batch.put('pruned', numberKey(chunk), gone.encode());
      return;
    }
    for (let page = 0; page < pagesPerChunk; page++) batch.remove('logs', numberKey(chunk * pagesPerChunk + page));
    batch.remove('pruned', numberKey(chunk));
  }
}
