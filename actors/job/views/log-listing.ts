// The list of logs, newest first (docs/contract.md#logs), with one log per stored attempt. The journal provides the logs by time
// of completion.
import { blockOf, formatId, indexOf, type JobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Selection } from '../records/action.ts';
import type { Attempt, StoredAttempt } from '../records/attempt.ts';
import { attemptsOf } from '../records/attempts.ts';
import { findBlock, groupOf } from '../records/block.ts';
import { logsOf, readCounts } from '../records/counts.ts';
import { matchesCommand, statuses, type TerminalStatus, terminalStatuses } from '../records/job.ts';
import {
  AttemptReader,
  asBuffer,
  type EntryFilter,
  entryAt,
  isBefore,
  type JournalPosition,
  journalEntryBytes,
  matchesEntry,
  readUs,
  usKey,
} from '../records/journal.ts';
import { type NameTable, numbersOf } from '../records/name-table.ts';

/** A filter for logs. A null field sets no condition. `fromUs`, `toUs`: the range of completion times, in µs, both inclusive. */
export type LogFilter = Pick<Selection, 'plugin' | 'command' | 'status' | 'submittedBy' | 'fromUs' | 'toUs'>;

/** `places`: the positions of the matching logs of a page, newest first. `total`: the number of all matching logs. */
export type JournalPositions = { readonly places: readonly JournalPosition[]; readonly total: number };

/** Times are in µs since the epoch. */
export type LogView = JournalPosition & {
  readonly jobId: string;
  readonly attempt: number;
  readonly plugin: string;
  readonly command: string;
  readonly status: TerminalStatus;
  readonly submittedBy: string;
  readonly createdUs: number;
  readonly completedUs: number;
  readonly lastError: string | null;
  readonly stderr: string | null;
  readonly body: Attempt['body'];
};

const endOfTime = Number.MAX_SAFE_INTEGER - 1;

/** The filter with names replaced by their numbers. Null: no log can match. */
export function entryFilter(names: NameTable, filter: LogFilter, onlyStarted = false): EntryFilter | null {
  const { plugin, command, status, submittedBy } = filter;
  const fromUs = Math.max(0, filter.fromUs ?? 0);
  const toUs = Math.min(endOfTime, filter.toUs ?? endOfTime);
  const submitter = submittedBy === null ? -1 : names.submitters.indexOf(submittedBy);
  if (fromUs > toUs || (submittedBy !== null && submitter < 0)) return null;
  if (status === 'queued' || status === 'running') return null;
  const code = status === null ? -1 : statuses.indexOf(status);
  const common = { status: code, submitter, onlyStarted, fromUs, toUs };
  if (plugin === null && command === null) return { ...common, commands: null };
  const commands = new Uint8Array(names.commands.length);
  for (const number of numbersOf(names, filter)) commands[number] = 1;
  return commands.includes(1) ? { ...common, commands } : null;
}

/** A slice of the search ends when it has read this many entries, or `commitsPerScan` commits. */
const entriesPerSlice = 16_384;
/** The maximum number of commits that one scan reads. */
const commitsPerScan = 256;

/** Finds logs in the journal alone, without the search index. `entries`: the same filter with numbers. */
export function* findLogs(
  reader: Reader,
  filter: LogFilter,
  entries: EntryFilter,
  limit: number,
  before: JournalPosition | null,
): Sliced<JournalPositions> {
  const kept = countedTotal(reader, filter);
  const places: JournalPosition[] = [];
  let counted = 0;
  // If the counters have the total, the search begins where the previous page ended. Otherwise it counts all matching logs.
  let toUs = kept !== null && before ? Math.min(entries.toUs, before.atUs) : entries.toUs;
  for (;;) {
    const range = { from: usKey(entries.fromUs), to: usKey(toUs + 1), reverse: true, limit: commitsPerScan };
    let commits = 0;
    let examined = 0;
    for (const { key, value } of reader.scan('journal', range)) {
      const atUs = readUs(key);
      const bytes = asBuffer(value);
      commits++;
      toUs = atUs - 1;
      examined += bytes.length / journalEntryBytes;
      for (let at = bytes.length - journalEntryBytes; at >= 0; at -= journalEntryBytes) {
        if (!matchesEntry(entries, bytes, at)) continue;
        counted++;
        if (places.length >= limit) continue;
        const place = { atUs, place: at / journalEntryBytes };
        if (before === null || isBefore(place, before)) places.push(place);
      }
      if (kept !== null && (places.length >= limit || (before === null && counted >= kept)))
        return { places, total: kept };
      if (examined >= entriesPerSlice) break;
    }
    if (commits < commitsPerScan && examined < entriesPerSlice) return { places, total: kept ?? counted };
    yield;
  }
}

/** The number of matching logs, if the counters have it; otherwise null. */
function countedTotal(reader: Reader, filter: LogFilter): number | null {
  if (filter.submittedBy !== null || filter.fromUs !== null || filter.toUs !== null) return null;
  let total = 0;
  for (const each of readCounts(reader)) {
    if (!matchesCommand(filter, each)) continue;
    const { counts } = each;
    for (const status of terminalStatuses) {
      if (filter.status === null || filter.status === status) total += logsOf(counts, status);
    }
    if (filter.status === null) total -= counts.never_started;
  }
  return total;
}

/** The logs at these positions, read on demand. Logs that have been pruned are left out. */
export function* logsAt(reader: Reader, names: NameTable, places: readonly JournalPosition[]): Iterable<LogView> {
  const attempts = new AttemptReader(reader);
  let pageUs = -1;
  let page: Uint8Array | undefined;
  for (const { atUs, place } of places) {
    // Neighbouring logs often belong to the same commit.
    if (pageUs !== atUs) page = reader.get('journal', usKey(atUs));
    pageUs = atUs;
    const entry = page && entryAt(atUs, place, page);
    const attempt = entry && attempts.find(entry);
    if (!attempt) continue;
    const { plugin = '', command = '' } = names.commands[entry.commandNumber] ?? {};
    const submittedBy = names.submitters[entry.submitterNumber] ?? '';
    const createdUs = atUs - entry.ranUs - entry.queuedUs;
    yield viewOf(place, entry.id, entry.attempt, attempt, { plugin, command, submittedBy, createdUs });
  }
}

/** All logs of a job, newest first. Here `place` is the number of the attempt, not a position in the journal. */
export function logsOfJob(reader: Reader, id: JobId): LogView[] {
  const block = findBlock(reader, id);
  if (!block) return [];
  const { submittedBy } = groupOf(block, indexOf(id)).group;
  const { plugin, command, createdUs } = block;
  const index = indexOf(id);
  const endings = attemptsOf(reader, blockOf(id), index, index + 1);
  return Array.from(endings, ({ number, attempt }) =>
    viewOf(number, id, number, attempt, { plugin, command, submittedBy, createdUs }),
  ).reverse();
}

/** Whether a log matches the filter, judged by the log's own fields. */
export function matchesLog(log: LogView, filter: LogFilter): boolean {
  return (
    matchesCommand(filter, log) &&
    (filter.status === null || log.status === filter.status) &&
    (filter.submittedBy === null || log.submittedBy === filter.submittedBy) &&
    (filter.fromUs === null || log.completedUs >= filter.fromUs) &&
    (filter.toUs === null || log.completedUs <= filter.toUs)
  );
}

function viewOf(
  place: number,
  id: Uint8Array,
  number: number,
  attempt: StoredAttempt,
  owner: Pick<LogView, 'plugin' | 'command' | 'submittedBy' | 'createdUs'>,
): LogView {
  return {
    ...owner,
    atUs: attempt.completedUs,
    place,
    jobId: formatId(id),
    attempt: number,
    status: attempt.status,
    completedUs: attempt.completedUs,
    get lastError() {
      return attempt.text('error');
    },
    get stderr() {
      return attempt.text('stderr');
    },
    get body() {
      return attempt.body;
    },
  };
}
