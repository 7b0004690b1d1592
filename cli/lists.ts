// The lists as the HTTP face asks for them: jobs by their indexes, logs by the journal, or by the search index where words are given.

import { type Found, isBlank, search } from '../actors/index/search.ts';
import { matchesBody, parseQuery } from '../actors/index/words.ts';
import { isBefore } from '../actors/job/journal.ts';
import { listJobs } from '../actors/job/listing.ts';
import { entryFilter, findLogs, type LogView, logsAt, logsOfJob, matchesLog } from '../actors/job/log-view.ts';
import { Names } from '../actors/job/names.ts';
import type { Engine, LogPage, LogsWanted } from '../http/engine.ts';
import { parseId } from '../runtime/ids.ts';
import { inSlices, type Sliced } from '../runtime/slices.ts';
import type { IndexTable, Reader } from '../runtime/store/store.ts';

export function openLists(reader: Reader, index: () => Reader<IndexTable>): Pick<Engine, 'listJobs' | 'listLogs'> {
  const names = new Names(reader);
  const begin = () => reader.refresh();
  const beginSearch = () => {
    reader.refresh();
    index().refresh();
  };

  function* logs(wanted: LogsWanted): Sliced<LogPage> {
    if (wanted.jobId !== null) return ofJob(wanted, wanted.jobId);
    const { limit } = wanted;
    const { places, total, unsearched } = yield* find(wanted);
    return {
      logs: logsAt(reader, names, places.slice(0, limit)),
      total,
      unsearched,
      next: places.length > limit ? places[limit - 1]! : null,
    };
  }

  function* find(wanted: LogsWanted): Sliced<Found> {
    const entries = entryFilter(names, wanted);
    if (!entries) return { places: [], total: 0, unsearched: 0 };
    const { query, limit, before } = wanted;
    if (query !== null && !isBlank(query))
      return yield* search(reader, index(), { query, entries, limit: limit + 1, before });
    return { ...(yield* findLogs(reader, wanted, entries, wanted.limit + 1, wanted.before)), unsearched: 0 };
  }

  function ofJob(wanted: LogsWanted, jobId: string): LogPage {
    const id = parseId(jobId);
    const phrases = parseQuery(wanted.query ?? '');
    const isFound = (log: LogView) => phrases.length === 0 || matchesBody(phrases, log.body);
    const all = (id ? logsOfJob(reader, id) : []).filter(log => matchesLog(log, wanted) && isFound(log));
    const { before, limit } = wanted;
    const behind = before ? all.filter(log => isBefore(log, before)) : all;
    const page = behind.slice(0, limit);
    return { logs: page, total: all.length, unsearched: 0, next: behind.length > limit ? page.at(-1)! : null };
  }

  return {
    listJobs: (filter, limit, before) => inSlices(listJobs(reader, names, filter, limit, before), begin),
    listLogs: wanted => inSlices(logs(wanted), wanted.query === null ? begin : beginSearch),
  };
}
