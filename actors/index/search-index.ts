// Maintains the search index: adds the words of each log that may have searchable text (`JournalEntry.mayHaveText`), and removes
// pruned logs.
import type { Batch, IndexTable } from '../../runtime/store/store.ts';
import { AttemptReader, type JournalEntry } from '../job/records/journal.ts';
import type { IndexStores, JournalConsumer } from './consumer.ts';
import { Postings } from './postings.ts';
import { Facets } from './records/facets.ts';
import { chunkLogs, LogSet } from './records/log-set.ts';
import { entryFinder } from './records/position.ts';
import {
  numberKey,
  pageLogs,
  pagesPerChunk,
  postingRange,
  Records,
  recordBytes,
  searchName,
  writeRecord,
} from './records/search-layout.ts';
import { textsOf } from './records/texts.ts';
import { wordsOf } from './records/words.ts';

/** When this many pairs of a word and a log have been collected, they are written. */
const gatheredMax = 100_000;
/** The maximum number of postings that one commit removes. */
const removedMax = 20_000;

export class SearchIndex implements JournalConsumer {
  readonly name = searchName;
  readonly #stores: IndexStores;
  readonly #attempts: AttemptReader;
  readonly #records: Records;
  readonly #facets = new Facets();
  readonly #postings: Postings;
  #next: number;
  /** The records of the page that is being filled. */
  readonly #page = Buffer.alloc(pageLogs * recordBytes);
  /** `prune` continues with this chunk or, if this chunk has been removed, with the first stored one. */
  #swept = 0;

  constructor(stores: IndexStores) {
    this.#stores = stores;
    this.#attempts = new AttemptReader(stores.ledger);
    this.#records = new Records(stores.index);
    this.#next = this.#records.bounds.end;
    if (this.#next % pageLogs > 0) this.#page.set(this.#records.page(Math.floor(this.#next / pageLogs)));
    this.#postings = new Postings(stores.index, this.#next % chunkLogs === 0);
  }

  take(entries: readonly JournalEntry[], batch: Batch<IndexTable>): number {
    const before = this.#next;
    let taken = 0;
    for (const entry of entries) {
      taken++;
      if (entry.mayHaveText) this.#takeOne(entry, batch);
      if (this.#postings.count >= gatheredMax) break;
    }
    if (this.#next === before) return taken;
    this.#writePostings(batch);
    this.#writePage(batch);
    this.#records.refresh();
    return taken;
  }

  #takeOne(entry: JournalEntry, batch: Batch<IndexTable>): void {
    const body = this.#attempts.findBody(entry);
    // The body is missing if the attempt has been pruned.
    if (!body) return;
    const number = this.#next % chunkLogs;
    for (const facet of this.#facets.of(entry)) this.#postings.add(facet, number);
    for (const text of textsOf(body)) for (const word of wordsOf(text)) this.#postings.add(word, number);
    writeRecord(this.#page, (number % pageLogs) * recordBytes, entry);
    this.#next++;
    if (this.#next % pageLogs === 0) this.#writePage(batch);
    if (this.#next % chunkLogs === 0) {
      this.#writePostings(batch);
      this.#postings.turn();
    }
  }

  /** Writes the page of the last log. */
  #writePage(batch: Batch<IndexTable>): void {
    const last = this.#next - 1;
    const page = this.#page.subarray(0, ((last % pageLogs) + 1) * recordBytes);
    batch.put('logs', numberKey(Math.floor(last / pageLogs)), Buffer.from(page));
  }

  #writePostings(batch: Batch<IndexTable>): void {
    this.#postings.write(Math.floor((this.#next - 1) / chunkLogs), batch);
  }

  /**
   * Marks the pruned logs of one chunk. If all logs of a full chunk are pruned, `prune` removes postings of the chunk,
   * at most `removedMax`. The numbers of the stored logs must have no gap. So the records of the logs are removed only
   * when the chunk is the oldest one and has no postings left.
   */
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
    const isEmpty = gone.count === chunkLogs;
    const isCleared = isEmpty && this.#removePostings(chunk, batch);
    if (isCleared && from === first) {
      for (let page = 0; page < pagesPerChunk; page++) batch.remove('logs', numberKey(chunk * pagesPerChunk + page));
      batch.remove('pruned', numberKey(chunk));
      return true;
    }
    if (gone.count > 0) batch.put('pruned', numberKey(chunk), gone.encode());
    if (isCleared || !isEmpty) this.#swept = chunk + 1;
    return true;
  }

  #goneIn(chunk: number, from: number, to: number, upToUs: number): LogSet {
    const gone = new LogSet(this.#stores.index.get('pruned', numberKey(chunk)));
    const entryOf = entryFinder(this.#stores.ledger);
    for (let log = from; log < to; log++) {
      if (gone.has(log - from)) continue;
      const place = this.#records.placeOf(log);
      if (place.atUs > upToUs) break;
      if (!entryOf(place)) gone.put(log - from);
    }
    return gone;
  }

  /** Removes at most `removedMax` postings of the chunk. True: none are left. */
  #removePostings(chunk: number, batch: Batch<IndexTable>): boolean {
    let removed = 0;
    for (const { key } of this.#stores.index.scan('postings', { ...postingRange(chunk, ''), limit: removedMax })) {
      batch.remove('postings', Buffer.from(key));
      removed++;
    }
    return removed < removedMax;
  }
}
