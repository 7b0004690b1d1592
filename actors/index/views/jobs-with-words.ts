// Finds jobs with the search index: jobs with an attempt whose log contains certain words.

import type { JobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { statuses, terminalStatuses } from '../../job/records/job.ts';
import { type EntryFilter, newestCommitUs } from '../../job/records/journal.ts';
import { keyText } from '../../job/records/open.ts';
import { statusFacets, wantedFacets } from '../records/facets.ts';
import { chunkLogs } from '../records/log-set.ts';
import { entryFinder, positionOf } from '../records/position.ts';
import { Records, searchName } from '../records/search-layout.ts';
import type { Phrase } from '../records/words.ts';
import { newestFirst } from './jobs-of-failure.ts';
import { logsOfChunk } from './search.ts';
import { searchUnindexed } from './unindexed-logs.ts';

const unsuccessful = terminalStatuses.filter(status => status !== 'succeeded').map(status => statuses.indexOf(status));

/** `ids`: the jobs that may match. `searchedUs`: all attempts that ended up to this time were searched; null: the journal is empty. */
export type Candidates = { readonly ids: readonly JobId[]; readonly searchedUs: number | null };

/**
 * The jobs whose logs may match the phrases, in descending order of their ids. Null: there may be more than `namedMax` jobs. A log that
 * is not indexed yet is compared with the phrases. An indexed log counts if it has all words, even if they are not adjacent. `isOfAny`:
 * whether indexed logs of successful attempts count, too.
 */
export function* jobsWithWords(
  ledger: Reader,
  index: Reader<IndexTable>,
  entries: EntryFilter,
  phrases: readonly Phrase[],
  namedMax: number,
  isOfAny = false,
): Sliced<Candidates | null> {
  const newestUs = newestCommitUs(ledger);
  const found = new Set<string>();
  const position = positionOf(index, searchName);
  const tail = yield* searchUnindexed(ledger, position, phrases, entries);
  // If some unindexed logs could not be searched, the matches among the other unindexed logs are dropped. A later
  // search can find these matches in the index.
  const isWhole = tail.unsearched === 0;
  const entryOf = entryFinder(ledger);
  for (const position of isWhole ? tail.places : []) {
    const entry = entryOf(position);
    if (entry) found.add(keyText(entry.id));
  }
  if (found.size > namedMax) return null;
  const facets = [...wantedFacets(entries), ...(isOfAny ? [] : [statusFacets(unsuccessful)])];
  const records = new Records(index);
  const { first: from } = records.bounds;
  const to = records.rank(position);
  for (let chunk = Math.floor((to - 1) / chunkLogs); chunk >= 0 && (chunk + 1) * chunkLogs > from; chunk--) {
    const first = chunk * chunkLogs;
    const logs = yield* logsOfChunk(index, chunk, phrases, facets, from, to);
    records.refresh();
    // The indexer may have removed the chunk meanwhile: then all its logs were pruned.
    if (logs && records.has(first)) {
      if (found.size + logs.count > namedMax) return null;
      for (const number of logs.down()) found.add(keyText(records.idOf(first + number)));
    }
    yield;
  }
  // A new index has the position 0: nothing was searched.
  const indexedUs = Math.max(0, position.atUs - 1);
  return { ids: newestFirst(found), searchedUs: isWhole ? newestUs : indexedUs };
}
