// Finds jobs by words of their last error, or by the fingerprint of their failure, newest first. If few logs match, the index names the jobs.
// If many logs match, unsuccessful jobs (or the jobs of the given trees) are examined one by one: so many of them match that a page is soon full.
// With `rerunOf`, only the reruns of that job are examined.

import { matchesTexts, type Phrase, parseQuery } from '../../actors/index/records/words.ts';
import { findFailure, hasFingerprint, jobsOfFailure } from '../../actors/index/views/jobs-of-failure.ts';
import { jobsWithWords } from '../../actors/index/views/jobs-with-words.ts';
import type { StoredAttempt } from '../../actors/job/records/attempt.ts';
import { newestCommitUs } from '../../actors/job/records/journal.ts';
import { endOfIds } from '../../actors/job/records/list-indexes.ts';
import type { NameTable } from '../../actors/job/records/name-table.ts';
import { rerunsOf } from '../../actors/job/records/reruns.ts';
import { filterJobs } from '../../actors/job/views/filtered-jobs.ts';
import type { JobFilter, JobPage } from '../../actors/job/views/job-page.ts';
import { entryFilter } from '../../actors/job/views/log-listing.ts';
import type { HasAttempt } from '../../actors/job/views/range-listing.ts';
import { listWithin } from '../../actors/job/views/tree-listing.ts';
import { unsuccessfulIds } from '../../actors/job/views/unsuccessful.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { Sliced } from '../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../runtime/store/store.ts';

/** If the index may name more jobs than this, the index is not used, and all jobs that may match are examined. */
export const candidatesMax = 20_000;

/** A filter with a fingerprint, words of the last error, or both. `error` null: no words. */
export type ErrorSearch = { readonly filter: JobFilter; readonly error: string | null; readonly limit: number };
/**
 * `ids`: the jobs that may match, newest first. At each null, the work can be interrupted. `searchedUs`: all attempts that ended up to this
 * time were searched; null: the journal is empty.
 */
type NamedJobs = { readonly ids: Iterable<JobId | null>; readonly searchedUs: number | null };

export function* listByError(
  ledger: Reader,
  index: () => Reader<IndexTable>,
  names: NameTable,
  { filter, error, limit }: ErrorSearch,
  before: JobId = endOfIds,
  namedMax = candidatesMax,
): Sliced<JobPage> {
  const { plugin, command, status, within, fingerprint, rerunOf } = filter;
  const phrases = parseQuery(error ?? '');
  const newestUs = newestCommitUs(ledger);
  const entries = entryFilter(names, { plugin, command, status: null, submittedBy: null, fromUs: null, toUs: null });
  // Nothing matches: the plugin or command is unknown, or only successful jobs are wanted, which have no last error.
  if (entries === null || status === 'succeeded')
    return { rows: [], total: 0, more: false, atLeast: false, searchedUs: newestUs };
  const has: HasAttempt = (attempt, owner) =>
    (error === null || hasError(attempt, phrases)) &&
    (fingerprint === undefined || hasFingerprint(fingerprint, attempt, owner));
  let found: NamedJobs | null = null;
  if (rerunOf) found = { ids: rerunsOf(ledger, rerunOf, 'down'), searchedUs: newestUs };
  else if (fingerprint !== undefined) {
    const ids = yield* jobsOfFailure(ledger, index(), fingerprint, namedMax);
    if (ids) found = { ids, searchedUs: newestUs };
  } else if (phrases.length > 0) found = yield* jobsWithWords(ledger, index(), entries, phrases, namedMax);
  if (found === null && within.length > 0)
    return { ...(yield* listWithin(ledger, filter, limit, before, has)), searchedUs: newestUs };
  const ids = found?.ids ?? unsuccessfulIds(ledger, names, ofGroup(filter, index));
  const page = yield* filterJobs(ledger, filter, ids, has, limit, before);
  return { ...page, searchedUs: found === null ? newestUs : found.searchedUs };
}

/** The filter. If it has the fingerprint of a group of failures, it is narrowed down to the plugin and command of this group. */
function ofGroup(filter: JobFilter, index: () => Reader<IndexTable>): JobFilter {
  const group = filter.fingerprint === undefined ? undefined : findFailure(index(), filter.fingerprint);
  return group ? { ...filter, plugin: group.plugin, command: group.command } : filter;
}

function hasError(attempt: StoredAttempt, phrases: readonly Phrase[]): boolean {
  if (attempt.status === 'succeeded') return false;
  const error = attempt.text('error');
  return error !== null && matchesTexts(phrases, [error]);
}
