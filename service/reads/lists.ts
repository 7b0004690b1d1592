// The lists of jobs and logs. Jobs are found by the indexes in the ledger, and logs by the journal. Searches for words or tags use the index
// environment (actors/index).

import { textsOf } from '../../actors/index/records/texts.ts';
import { matchesTexts, parseQuery } from '../../actors/index/records/words.ts';
import { isBlank, type SearchResult, search } from '../../actors/index/views/search.ts';
import { isBefore } from '../../actors/job/records/journal.ts';
import { endOfIds } from '../../actors/job/records/list-indexes.ts';
import { NameTable } from '../../actors/job/records/name-table.ts';
import { rerunsOf } from '../../actors/job/records/reruns.ts';
import { filterJobs } from '../../actors/job/views/filtered-jobs.ts';
import type { JobFilter, JobPage } from '../../actors/job/views/job-page.ts';
import { listJobs } from '../../actors/job/views/listing.ts';
import {
  entryFilter,
  findLogs,
  type LogView,
  logsAt,
  logsOfJob,
  matchesLog,
} from '../../actors/job/views/log-listing.ts';
import { listNarrowed } from '../../actors/job/views/narrowed-listing.ts';
import { type JobId, parseId } from '../../runtime/ids.ts';
import type { Sliced } from '../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../runtime/store/store.ts';
import { listByError } from './error-list.ts';
import type { LogPage, LogsQuery } from './reads.ts';
import { listByTags } from './tag-list.ts';

export function openLists(reader: Reader, index: () => Reader<IndexTable>) {
  const names = new NameTable(reader);

  function* logs(wanted: LogsQuery): Sliced<LogPage> {
    if (wanted.jobId !== null) return yield* ofJob(wanted, wanted.jobId);
    const { limit } = wanted;
    const { places, total, unsearched } = yield* find(wanted);
    return {
      logs: logsAt(reader, names, places.slice(0, limit)),
      total,
      unsearched,
      next: places.length > limit ? places[limit - 1]! : null,
    };
  }

  function* find(wanted: LogsQuery): Sliced<SearchResult> {
    const entries = entryFilter(names, wanted, wanted.status === null);
    if (!entries) return { places: [], total: 0, unsearched: 0 };
    const { query, limit, before } = wanted;
    if (query !== null && !isBlank(query))
      return yield* search(reader, index(), { query, entries, limit: limit + 1, before });
    return { ...(yield* findLogs(reader, wanted, entries, wanted.limit + 1, wanted.before)), unsearched: 0 };
  }

  function* ofJob(wanted: LogsQuery, jobId: string): Sliced<LogPage> {
    const id = parseId(jobId);
    const phrases = parseQuery(wanted.query ?? '');
    const all: LogView[] = [];
    for (const log of id ? logsOfJob(reader, id) : []) {
      if (!matchesLog(log, wanted)) continue;
      if (phrases.length === 0 || matchesTexts(phrases, textsOf(log.body))) all.push(log);
      yield;
    }
    const { before, limit } = wanted;
    const behind = before ? all.filter(log => isBefore(log, before)) : all;
    const page = behind.slice(0, limit);
    return { logs: page, total: all.length, unsearched: 0, next: behind.length > limit ? page.at(-1)! : null };
  }

  /** `error`: words that the last error of each job must have. */
  function* jobs(filter: JobFilter, limit: number, before: JobId | null, error: string | null = null): Sliced<JobPage> {
    const { tags = [], within, fingerprint, accepted, pipeline, rerunOf } = filter;
    // With a filter by tree, error, fingerprint or `rerunOf`, jobs are examined one by one, even those whose tags the index lacks.
    const complete = (page: JobPage) => (tags.length === 0 ? page : { ...page, unindexed: 0 });
    if (error !== null || fingerprint !== undefined)
      return complete(yield* listByError(reader, index, names, { filter, error, limit }, before ?? undefined));
    if (rerunOf) {
      const reruns = rerunsOf(reader, rerunOf, 'down');
      return complete(yield* filterJobs(reader, filter, reruns, null, limit, before ?? endOfIds));
    }
    if (tags.length > 0 && within.length === 0)
      return yield* listByTags(reader, index(), { filter: { ...filter, tags }, limit, before });
    if (within.length === 0 && (accepted || pipeline !== undefined))
      return yield* listNarrowed(reader, names, filter, limit, before);
    return complete(yield* listJobs(reader, names, filter, limit, before));
  }

  return { jobs, logs };
}
