// The jobs that failed, timed out or became dead last. The end of the journal names them. If it names too few, the failed jobs that were
// accepted last are added from the table `unsuccessful`.
import type { JobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type CommandCounts, countsKey } from '../records/counts.ts';
import { failureStatuses, statuses } from '../records/job.ts';
import { entryAt, journalEntryBytes, readUs, statusAt, usKey } from '../records/journal.ts';
import { endOfIds, unsuccessfulKey } from '../records/list-indexes.ts';
import type { NameTable } from '../records/name-table.ts';
import { keyText } from '../records/open.ts';
import { newestKeys } from './unsuccessful.ts';

const noId = Buffer.alloc(0);

/** The maximum number of commits that one scan of the journal reads. */
const commitsPerStep = 64;
/** The search of the journal ends when it has read at least this many entries. */
const entriesMax = 20_000;
const failureCodes = new Set(failureStatuses.map(status => statuses.indexOf(status)));

/** The ids of the jobs that failed last, at most `max`. If too few are found in the journal, the newest failed jobs are added. */
export function* recentFailures(
  reader: Reader,
  names: NameTable,
  all: readonly CommandCounts[],
  max: number,
): Sliced<JobId[]> {
  const last = yield* lastFailed(reader, max);
  if (last.length === max) return last;
  const known = new Set(last.map(keyText));
  const others = (yield* newestFailed(reader, names, all, max)).filter(id => !known.has(keyText(id)));
  return [...last, ...others].slice(0, max);
}

/** The failed jobs among the last entries of the journal, at most `max`, in the order of their ends, last first. */
function* lastFailed(reader: Reader, max: number): Sliced<JobId[]> {
  const found: JobId[] = [];
  let examined = 0;
  for (let to = usKey(Number.MAX_SAFE_INTEGER); examined < entriesMax; ) {
    let commits = 0;
    for (const { key, value } of reader.scan('journal', { to, reverse: true, limit: commitsPerStep })) {
      to = Buffer.from(key);
      commits++;
      const atUs = readUs(key);
      const entries = value.length / journalEntryBytes;
      examined += entries;
      for (let place = entries - 1; place >= 0; place--) {
        // Only entries of failures are decoded.
        if (!failureCodes.has(value[place * journalEntryBytes + statusAt]!)) continue;
        const entry = entryAt(atUs, place, value);
        if (!entry?.final) continue;
        found.push(Buffer.from(entry.id));
        if (found.length === max) return found;
      }
      if (examined >= entriesMax) break;
    }
    if (commits < commitsPerStep) break;
    yield;
  }
  return found;
}

/** The ids of the newest failed jobs, at most `max`, newest first. Searches the table `unsuccessful` only for commands with failed jobs. */
function* newestFailed(reader: Reader, names: NameTable, all: readonly CommandCounts[], max: number): Sliced<JobId[]> {
  const numbers = new Map(names.commands.map(({ number, plugin, command }) => [countsKey(plugin, command), number]));
  const found: Buffer[] = [];
  for (const { plugin, command, counts } of all) {
    const number = numbers.get(countsKey(plugin, command));
    if (number === undefined) continue;
    const prefixes = failureStatuses
      .filter(status => counts[status] > 0)
      .map(status => unsuccessfulKey(number, status, noId));
    if (prefixes.length === 0) continue;
    found.push(...newestKeys(reader, 'unsuccessful', prefixes, endOfIds, max));
    yield;
  }
  return found.sort((a, b) => Buffer.compare(b, a)).slice(0, max);
}
