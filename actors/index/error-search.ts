// Jobs by the words of their last error, newest first. Where few logs have the words the index names the jobs; where many have
// them, or a tree is asked for too, the jobs that did not succeed are walked through: the first that match are near then.
import { blockOf, indexOf, type JobId, jobIdBytes } from '../../runtime/ids.ts';
import type { Sliced } from '../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../runtime/store/store.ts';
import type { StoredAttempt } from '../job/attempt.ts';
import { latestAttempt } from '../job/attempts.ts';
import { groupOf } from '../job/block.ts';
import { BlockShelf } from '../job/block-shelf.ts';
import { countedMax, type JobFilter, type JobPage, type JobRow, rowOf } from '../job/job-page.ts';
import { entryAt, newestCommitUs, usKey } from '../job/journal.ts';
import { entryFilter } from '../job/log-view.ts';
import type { Names } from '../job/names.ts';
import { type Status, statuses } from '../job/record.ts';
import { listWithin, membersOf } from '../job/tree-listing.ts';
import { unsuccessfulIds } from '../job/unsuccessful.ts';
import { findJob } from '../job/view.ts';
import { statusFacets, wantedFacets } from './facets.ts';
import { chunkLogs } from './log-set.ts';
import { positionOf } from './position.ts';
import { clip, dropAll, findWords, keepFacets } from './search.ts';
import { searchName } from './search-index.ts';
import { numberKey, Records } from './shelves.ts';
import { searchTail } from './tail.ts';
import { matchesTexts, type Phrase, parseQuery } from './words.ts';

/** Logs with the words: with more of them the jobs that did not succeed are walked through. */
export const candidatesMax = 20_000;
/** Jobs that are looked at in one go. */
const jobsPerStep = 64;

const endOfIds = Buffer.alloc(jobIdBytes, 0xff);
const unsuccessful = ['failed', 'timed_out', 'dead'] as const satisfies readonly Status[];

export type ErrorSearch = { readonly filter: JobFilter; readonly error: string; readonly limit: number };

export function* listByError(
  ledger: Reader,
  index: () => Reader<IndexTable>,
  names: Names,
  { filter, error, limit }: ErrorSearch,
  before: JobId = endOfIds,
  namedMax = candidatesMax,
): Sliced<JobPage> {
  const phrases = parseQuery(error);
  const newestUs = newestCommitUs(ledger);
  // What succeeded has no last error.
  if (filter.status === 'succeeded') return { rows: [], total: 0, more: false, atLeast: false, searchedUs: newestUs };
  const has = (attempt: StoredAttempt) => hasError(attempt, phrases);
  const found = phrases.length === 0 ? null : yield* candidates(ledger, index(), names, filter, phrases, namedMax);
  if (found === null && filter.within.length > 0)
    return { ...(yield* listWithin(ledger, filter, limit, before, has)), searchedUs: newestUs };
  const ids = found?.ids ?? unsuccessfulIds(ledger, names, filter);
  return { ...(yield* sift(ledger, filter, ids, has, limit, before)), searchedUs: found?.searchedUs ?? newestUs };
}

function hasError(attempt: StoredAttempt, phrases: readonly Phrase[]): boolean {
  if (attempt.status === 'succeeded') return false;
  const error = attempt.text('error');
  return error !== null && matchesTexts(phrases, [error]);
}

type Candidates = { readonly ids: readonly JobId[]; readonly searchedUs: number | null };

/** The jobs whose logs have the words, the newest first; null: there are too many. */
function* candidates(
  ledger: Reader,
  index: Reader<IndexTable>,
  names: Names,
  filter: JobFilter,
  phrases: readonly Phrase[],
  namedMax: number,
): Sliced<Candidates | null> {
  const { plugin, command } = filter;
  const entries = entryFilter(names, { plugin, command, status: null, submittedBy: null, fromUs: null, toUs: null });
  const newestUs = newestCommitUs(ledger);
  if (entries === null) return { ids: [], searchedUs: newestUs };
  const found = new Set<string>();
  const position = positionOf(index, searchName);
  const tail = yield* searchTail(ledger, position, phrases, entries);
  // What is behind the index by more than a tail is left to the next search.
  const isWhole = tail.unsearched === 0;
  for (const { atUs, place } of isWhole ? tail.places : []) {
    const commit = ledger.get('journal', usKey(atUs));
    const entry = commit && entryAt(atUs, place, commit);
    if (entry) found.add(textOf(entry.id));
  }
  const facets = [...wantedFacets(entries), statusFacets(unsuccessful.map(status => statuses.indexOf(status)))];
  const records = new Records(index);
  const { first: from } = records.bounds;
  const to = records.rank(position);
  for (let chunk = Math.floor((to - 1) / chunkLogs); chunk >= 0 && (chunk + 1) * chunkLogs > from; chunk--) {
    const first = chunk * chunkLogs;
    const logs = yield* findWords(index, chunk, phrases);
    if (logs && keepFacets(logs, index, chunk, facets)) {
      const pruned = index.get('pruned', numberKey(chunk));
      if (pruned) dropAll(logs, pruned);
      clip(logs, from - first, to - first);
      if (found.size + logs.count > namedMax) return null;
      records.refresh();
      for (const number of logs.down()) found.add(textOf(records.idOf(first + number)));
    }
    yield;
  }
  const ids = [...found].sort().reverse();
  return { ids: ids.map(id => Buffer.from(id, 'latin1')), searchedUs: isWhole ? newestUs : position.atUs - 1 };
}

/** So ordered as the bytes are. */
function textOf(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('latin1');
}

/** Of the jobs those that match: one page, and how many there are. */
function* sift(
  reader: Reader,
  filter: JobFilter,
  ids: Iterable<JobId | null>,
  has: (attempt: StoredAttempt) => boolean,
  limit: number,
  before: JobId,
): Sliced<JobPage> {
  const { plugin, command, status } = filter;
  const blocks = new BlockShelf(reader);
  const isInside = membersOf(blocks, filter.within);
  const rows: JobRow[] = [];
  let total = 0;
  let looked = 0;
  for (const id of ids) {
    if (id === null || ++looked % jobsPerStep === 0) yield;
    if (id === null) continue;
    const ending = latestAttempt(reader, id);
    // An attempt is pruned with its block.
    const block = ending && blocks.find(blockOf(id));
    if (!block || (plugin !== null && block.plugin !== plugin) || (command !== null && block.command !== command))
      continue;
    if (!isInside(id, groupOf(block, indexOf(id)).group) || !has(ending.attempt)) continue;
    const current = ending.attempt.final ? ending.attempt.status : findJob(reader, id, blocks)?.status;
    if (current === undefined || (status !== null && current !== status)) continue;
    total++;
    if (rows.length <= limit && Buffer.compare(id, before) < 0) rows.push(rowOf(reader, block, id, ending, current));
    if (total >= countedMax && rows.length > limit)
      return { rows: rows.slice(0, limit), total: countedMax, more: true, atLeast: true };
  }
  return { rows: rows.slice(0, limit), total, more: rows.length > limit, atLeast: false };
}
