// The table of reruns lists the reruns of each job. The group of a rerun (records/job.ts) refers back to the job. For a run, the table also
// lists reruns of other jobs, if their payloads refer to values that the run has stored in `arrivals` (runtime/parted.ts).
import { keyAfter } from '../../../runtime/bytes.ts';
import { blockOf, type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import { isParted, sectionsOf } from '../../../runtime/parted.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { Rerun, RerunFrom } from './job.ts';
import { endOfIds } from './list-indexes.ts';

/** The maximum number of a job's reruns that are listed. */
export const rerunsListedMax = 100;
/** The maximum number of a job's reruns that are counted. */
export const rerunsCountedMax = 10_000;
/** The maximum number of reruns that `haveOpenReruns` looks at. */
const rerunsExaminedMax = 4096;
/** The maximum number of entries that `rerunsOf` reads at a time. */
const rerunsPerScan = 256;

export type Reruns = {
  /** The reruns, newest first, at most `rerunsListedMax`. */
  readonly ids: readonly JobId[];
  /** The number of reruns, at most `rerunsCountedMax`. */
  readonly count: number;
};

const nothing = new Uint8Array(0);
const reusesMark = 1;
const namesPartsMark = 2;
/** The value for a rerun `from: failed`. */
const takesOver = Uint8Array.of(reusesMark);
/** The value for a job that is not a rerun of the run, but has a payload that refers to values that the run has stored. */
const namesParts = Uint8Array.of(namesPartsMark);

/** Records a rerun with this id. `payload`: the stored payload of the rerun. */
export function writeRerun(batch: Batch, { of, from }: Rerun, id: JobId, payload: Uint8Array): void {
  for (const run of runsNamedIn(payload)) batch.put('reruns', rerunKey(run, id), namesParts);
  batch.put('reruns', rerunKey(of, id), from === 'failed' ? takesOver : nothing);
}

/**
 * How the two jobs in the key of an entry are related. `start` or `failed`: the second job is a rerun of the first, from that point.
 * `parts`: the second job has a payload in parts, and the first job is a run that has stored some of these parts.
 */
export function rerunKind(value: Uint8Array): RerunFrom | 'parts' {
  if (value.length === 0) return 'start';
  return value[0] === reusesMark ? 'failed' : 'parts';
}

/** Whether all parts of the payload are stored. A part is pruned together with the run that has stored it. */
export function isWhole(reader: Reader, payload: Uint8Array): boolean {
  return runsNamedIn(payload).every(run => reader.peek('blocks', blockOf(run)) !== undefined);
}

/** The runs that have stored parts of this payload. */
export function runsNamedIn(payload: Uint8Array): JobId[] {
  if (!isParted(payload)) return [];
  const runs = new Map<string, JobId>();
  for (const section of sectionsOf(payload)) {
    if (section instanceof Uint8Array) continue;
    const run = Buffer.from(section.base.subarray(0, jobIdBytes));
    runs.set(run.toString('latin1'), run);
  }
  return [...runs.values()];
}

/** The reruns `from: failed` of the run. */
export function* takersOver(reader: Reader, run: JobId): Iterable<JobId> {
  for (const { key, value } of reader.scan('reruns', { from: run, to: rerunKey(run, endOfIds) })) {
    if (rerunKind(value) === 'failed') yield Buffer.from(key.subarray(jobIdBytes));
  }
}

/**
 * The reruns `from: failed` of the runs from `first` up to, not including, `end`, and the reruns whose payloads refer to parts that these runs
 * have stored.
 */
export function* dependents(reader: Reader, first: JobId, end: JobId): Iterable<JobId> {
  for (const { key, value } of reader.scan('reruns', { from: first, to: end })) {
    if (value.length > 0) yield Buffer.from(key.subarray(jobIdBytes));
  }
}

/**
 * Whether a rerun of one of the jobs from `first` up to, not including, `end` has not ended, or shares its block with a job that has not.
 * If the jobs have very many reruns, only the last ones are looked at.
 */
export function haveOpenReruns(reader: Reader, first: JobId, end: JobId): boolean {
  if (reader.count('reruns') === 0) return false;
  for (const key of reader.keys('reruns', { from: first, to: end, reverse: true, limit: rerunsExaminedMax })) {
    const rerun = Buffer.from(key.subarray(jobIdBytes));
    if (reader.peek('open', blockOf(rerun)) !== undefined) return true;
  }
  return false;
}

/** Removes the entries of the pruned jobs from `first` up to, not including, `end`. */
export function pruneReruns(reader: Reader, batch: Batch, first: JobId, end: JobId): void {
  for (const key of reader.keys('reruns', { from: first, to: end })) batch.remove('reruns', Buffer.from(key));
}

/** No reruns: the value for a job that has not ended. */
export const noReruns: Reruns = { ids: [], count: 0 };

export function readReruns(reader: Reader, of: JobId): Reruns {
  const ids: JobId[] = [];
  let count = 0;
  for (const id of rerunsOf(reader, of, 'down')) {
    if (id === null) continue;
    if (count++ < rerunsListedMax) ids.push(id);
    if (count === rerunsCountedMax) break;
  }
  return { ids, count };
}

/**
 * The reruns of a job from the id `least` on, in ascending (`up`) or descending (`down`) order of their ids. Some may have been pruned. The
 * caller can pause at each null.
 */
export function* rerunsOf(
  reader: Reader,
  of: JobId,
  direction: 'up' | 'down',
  least: Uint8Array = new Uint8Array(jobIdBytes),
): Iterable<JobId | null> {
  let [from, to] = [rerunKey(of, least), rerunKey(of, endOfIds)];
  for (;;) {
    const range = { from, to, reverse: direction === 'down', limit: rerunsPerScan };
    const entries = Array.from(reader.scan('reruns', range), ({ key, value }) => ({
      key: Buffer.from(key),
      isRerun: rerunKind(value) !== 'parts',
    }));
    for (const { key, isRerun } of entries) if (isRerun) yield key.subarray(jobIdBytes);
    if (entries.length < rerunsPerScan) return;
    const { key } = entries.at(-1)!;
    if (direction === 'down') to = key;
    else from = keyAfter(key);
    yield null;
  }
}

/** Key: id of the job or run (16), id of the job that is listed for it (16). */
export function rerunKey(of: JobId, id: Uint8Array): Uint8Array {
  return Buffer.concat([of, id]);
}
