// Searches the index chunk by chunk, newest first. The search runs in slices (runtime/slices.ts).

import { keyAfter } from '../../../runtime/bytes.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { AttemptReader, type EntryFilter, isBefore, type JournalPosition } from '../../job/records/journal.ts';
import { neverStartedFacet, wantedFacets } from '../records/facets.ts';
import { chunkLogs, LogSet } from '../records/log-set.ts';
import { entryFinder, positionOf } from '../records/position.ts';
import { numberKey, postingKey, postingRange, Records, searchName } from '../records/search-layout.ts';
import { textsOf } from '../records/texts.ts';
import { matchesTexts, type Phrase, parseQuery, type SearchTerm } from '../records/words.ts';
import { searchUnindexed } from './unindexed-logs.ts';

/**
 * The query, the filters and the page of a search. The page has the newest logs before the position `before` (null: the newest of all), at
 * most `limit`.
 */
export type Search = {
  readonly query: string;
  readonly entries: EntryFilter;
  readonly limit: number;
  readonly before: JournalPosition | null;
};

/** The maximum number of postings that one scan for a prefix reads. */
const postingsPerStep = 2_000;

/**
 * Whether the query has no words. Such a query matches every log, even a log without text. Callers then list logs
 * instead of calling `search`.
 */
export function isBlank(query: string): boolean {
  return parseQuery(query).length === 0;
}

/**
 * `places`: the positions of the matching logs of the page, newest first. `total`: the number of matches in all searched logs.
 * `unsearched`: the number of logs that could not be searched (see `UnindexedMatches`).
 */
export type SearchResult = {
  readonly places: readonly JournalPosition[];
  readonly total: number;
  readonly unsearched: number;
};

export function* search(
  ledger: Reader,
  index: Reader<IndexTable>,
  { query, entries, limit, before }: Search,
  tailMax?: number,
): Sliced<SearchResult> {
  const phrases = parseQuery(query);
  const facets = wantedFacets(entries);
  // The index may grow during the search. Logs before this position are searched in the index, and the others in the journal.
  const position = positionOf(index, searchName);
  const tail = yield* searchUnindexed(ledger, position, phrases, entries, tailMax);
  const places = tail.places.filter(place => before === null || isBefore(place, before)).slice(0, limit);
  let total = tail.places.length;
  const records = new Records(index);
  const from = Math.max(records.bounds.first, records.rank({ atUs: entries.fromUs, place: 0 }));
  const end = { atUs: entries.toUs + 1, place: 0 };
  const to = records.rank(isBefore(position, end) ? position : end);
  for (let chunk = Math.floor((to - 1) / chunkLogs); chunk >= 0 && (chunk + 1) * chunkLogs > from; chunk--) {
    const first = chunk * chunkLogs;
    const found = yield* logsOfChunk(index, chunk, phrases, facets, from, to);
    const neverStarted = found && entries.onlyStarted && index.get('postings', postingKey(chunk, neverStartedFacet));
    if (neverStarted) found.drop(new LogSet(neverStarted));
    if (found && phrases.some(({ length }) => length > 1)) yield* keepPhrases(ledger, found, records, first, phrases);
    records.refresh();
    // The indexer may have removed the chunk meanwhile: then all its logs were pruned.
    if (found && records.has(first)) {
      total += found.count;
      for (const number of found.down()) {
        if (places.length >= limit) break;
        const place = records.placeOf(first + number);
        if (before === null || isBefore(place, before)) places.push(place);
      }
    }
    yield;
  }
  return { places, total, unsearched: tail.unsearched };
}

/**
 * The logs of a chunk that have all words of the phrases and at least one facet of each list. The result excludes
 * pruned logs, and has only numbers from `from` up to, not including, `to`. Null: no log of the chunk has these words
 * and facets.
 */
export function* logsOfChunk(
  index: Reader<IndexTable>,
  chunk: number,
  phrases: readonly Phrase[],
  facets: readonly (readonly string[])[],
  from: number,
  to: number,
): Sliced<LogSet | null> {
  const found = yield* findWords(index, chunk, phrases);
  if (!found || !keepFacets(found, index, chunk, facets)) return null;
  const pruned = index.get('pruned', numberKey(chunk));
  if (pruned) found.drop(new LogSet(pruned));
  const first = chunk * chunkLogs;
  clip(found, from - first, to - first);
  return found;
}

/**
 * The logs of a chunk that contain every word of the phrases. There must be at least one phrase. Null: no log of the
 * chunk contains them all.
 */
function* findWords(index: Reader<IndexTable>, chunk: number, phrases: readonly Phrase[]): Sliced<LogSet | null> {
  let found: LogSet | null = null;
  for (const wanted of phrases.flat()) {
    const having: LogSet | null = wanted.isPrefix ? yield* anyOf(index, chunk, wanted) : logsWith(index, chunk, wanted);
    if (!having) return null;
    if (found) found.keep(having);
    else found = having;
  }
  return found;
}

function logsWith(index: Reader<IndexTable>, chunk: number, { word }: SearchTerm): LogSet | null {
  const stored = index.get('postings', postingKey(chunk, word));
  return stored ? new LogSet(stored) : null;
}

function* anyOf(index: Reader<IndexTable>, chunk: number, { word }: SearchTerm): Sliced<LogSet | null> {
  const set = new LogSet();
  let { from, to } = postingRange(chunk, word);
  for (;;) {
    let read = 0;
    for (const { key, value } of index.scan('postings', { from, to, limit: postingsPerStep })) {
      set.add(value);
      from = keyAfter(key);
      read++;
    }
    if (read < postingsPerStep) return set;
    yield;
  }
}

/** Keeps the logs with numbers from `from` up to, not including, `to`. */
function clip(found: LogSet, from: number, to: number): void {
  if (from <= 0 && to >= chunkLogs) return;
  const inside = new LogSet();
  const end = Math.min(chunkLogs, to);
  for (let number = Math.max(0, from); number < end; number++) inside.put(number);
  found.keep(inside);
}

/** Keeps the logs that have at least one facet of each list. False: no logs are left. */
function keepFacets(
  found: LogSet,
  index: Reader<IndexTable>,
  chunk: number,
  facets: readonly (readonly string[])[],
): boolean {
  for (const alternatives of facets) {
    const having = new LogSet();
    for (const facet of alternatives) {
      const stored = index.get('postings', postingKey(chunk, facet));
      if (stored) having.add(stored);
    }
    found.keep(having);
  }
  return !found.isEmpty;
}

/** Reads the logs that contain all words, and keeps the logs in which the words of each phrase are adjacent. */
function* keepPhrases(
  ledger: Reader,
  found: LogSet,
  records: Records,
  first: number,
  phrases: readonly Phrase[],
): Sliced<void> {
  const entryOf = entryFinder(ledger);
  const attempts = new AttemptReader(ledger);
  records.refresh();
  for (const number of [...found.down()]) {
    if (!records.has(first + number)) {
      found.remove(number);
      continue;
    }
    const entry = entryOf(records.placeOf(first + number));
    const body = entry && attempts.findBody(entry);
    if (!body || !matchesTexts(phrases, textsOf(body))) found.remove(number);
    yield;
  }
}
