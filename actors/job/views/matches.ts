// Finds the jobs that match a selection as of its moment (`Moment`), in the order of their ids. Jobs that were accepted after the moment,
// and attempts that ended after it, do not count.
import { type BlockKey, blockOf, indexOf, isOfBlock, type JobId, jobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { isAcceptedIn, keysOf } from '../records/accepted.ts';
import type { Moment, Selection } from '../records/action.ts';
import type { StoredAttempt } from '../records/attempt.ts';
import { attemptsOf, type NumberedAttempt } from '../records/attempts.ts';
import { type Block, groupEnd } from '../records/block.ts';
import { headgatePlugin, type JobGroup, matchesCommand, pipelinePlugin, type Status } from '../records/job.ts';
import { isNeverStarted } from '../records/journal.ts';
import type { NameTable } from '../records/name-table.ts';
import { hasTags } from '../records/tags.ts';
import { BlockCache, twoBlocks } from './block-cache.ts';
import type { JobScopeFilter } from './job-page.ts';
import { BlockJobs } from './job-view.ts';
import { usableOf } from './jobs.ts';
import { type JobSpan, spansOf } from './oldest-first.ts';
import type { HasAttempt } from './range-listing.ts';
import { membersOf } from './tree-listing.ts';

/** The maximum number of jobs that one step examines. The step also reads the attempts of other jobs that lie between these jobs. */
const attemptsPerStep = 256;

/** Tests of an attempt for the words and the fingerprint of a selection. A test is absent if the selection does not ask for it. */
export type WordChecks = {
  readonly error?: (attempt: StoredAttempt) => boolean;
  readonly query?: (attempt: StoredAttempt) => boolean;
  /** Whether the attempt ended a job with the selected fingerprint. */
  readonly failure?: HasAttempt;
  /** The time up to which attempts were searched: attempts that ended later do not count. Null: there was no search. */
  readonly searchedUs: number | null;
};
export const noWords: WordChecks = { searchedUs: null };

export type MatchedJob = { readonly id: JobId; readonly plugin: string; readonly command: string };

export type MatchOptions = {
  readonly reader: Reader;
  readonly names: NameTable;
  readonly selection: Selection;
  readonly moment: Moment;
  readonly words?: WordChecks;
  /** The last job of the previous page: only jobs with larger ids match. */
  readonly after?: JobId | null;
  /** The spans to search. Absent: `spansOf` (oldest-first.ts) chooses them. */
  readonly spans?: Iterable<JobSpan | null>;
};

/** The matching jobs. The caller can pause at each null. */
function* matches(options: MatchOptions): Iterable<MatchedJob | null> {
  const { reader, names, selection, moment, after = null } = options;
  const { accepted } = selection;
  const keys = accepted && keysOf(accepted);
  const blocks = new BlockCache(reader, twoBlocks);
  const filters = {
    isWanted: groupFilter(selection),
    isInside: treeFilter(new BlockCache(reader), selection),
    fits: jobFilter(options),
  };
  for (const span of options.spans ?? spansOf(reader, names, selection, laterOf(after, keys?.from))) {
    if (span === null) {
      yield null;
      continue;
    }
    const { key, indexes } = span;
    // A span may lie before `after`: in a tree, the first span is always the root.
    if (after && Buffer.compare(key, blockOf(after)) < 0) continue;
    if (Buffer.compare(key, moment.block) >= 0) continue;
    if (keys && Buffer.compare(key, keys.to) >= 0) continue;
    const block = blocks.findUsable(key);
    if (!block || block.plugin === headgatePlugin || !matchesCommand(selection, block)) continue;
    if (accepted && !isAcceptedIn(accepted, key, block)) continue;
    const { plugin, command } = block;
    for (const index of jobsOf(reader, key, block, indexes ?? allOf(block), filters, after)) {
      yield index === null ? null : { id: jobId(key, index), plugin, command };
    }
  }
}

/** The job at which the walk begins; null: the first job. `first`: jobs in blocks with smaller keys do not match. */
function laterOf(after: JobId | null, first: BlockKey | undefined): JobId | null {
  if (!first || (after && Buffer.compare(after, first) > 0)) return after;
  return jobId(first, 0);
}

/** The next matching jobs, at most `max`. `isEnd`: whether these are the last ones. */
export function* nextMatches(
  options: MatchOptions,
  max: number,
): Sliced<{ readonly ids: readonly JobId[]; readonly isEnd: boolean }> {
  const ids: JobId[] = [];
  for (const match of matches(options)) {
    if (match === null) yield;
    else if (ids.length === max) return { ids, isEnd: false };
    else ids.push(match.id);
  }
  return { ids, isEnd: true };
}

/** The maximum length of `MatchCount.sample`. */
export const sampleMax = 10;

export type MatchCount = {
  readonly matched: number;
  readonly sample: readonly JobId[];
  /** The plugins and commands of the jobs that match, as `plugin\0command`. */
  readonly commands: readonly string[];
};

export function* countMatches(options: MatchOptions): Sliced<MatchCount> {
  const sample: JobId[] = [];
  const commands = new Set<string>();
  let matched = 0;
  for (const match of matches(options)) {
    if (match === null) yield;
    else {
      if (matched++ < sampleMax) sample.push(match.id);
      commands.add(`${match.plugin}\0${match.command}`);
    }
  }
  return { matched, sample, commands: [...commands] };
}

function allOf({ count }: Block): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

type Fits = (jobs: BlockJobs, index: number, attempts: readonly NumberedAttempt[], block: Block) => boolean;
type Filters = {
  /**
   * Whether the jobs of a group match in submitter, pipeline, tags and `rerunOf`, and are not excluded as jobs inside runs (`children`) or
   * in phases (`withoutPhases`).
   */
  readonly isWanted: (group: JobGroup, block: Block) => boolean;
  /** Whether a job matches in run, root and parent. Null: every job does. */
  readonly isInside: ((id: JobId, group: JobGroup) => boolean) | null;
  /** Whether a job matches in status, words, fingerprint and the times of its attempts. Null: every job does, and no attempt is read. */
  readonly fits: Fits | null;
};

/** The indexes of matching jobs. The caller can pause at each null. */
function* jobsOf(
  reader: Reader,
  key: BlockKey,
  block: Block,
  indexes: readonly number[],
  { isWanted, isInside, fits }: Filters,
  after: JobId | null,
): Iterable<number | null> {
  const first = after && isOfBlock(after, key) ? indexOf(after) + 1 : 0;
  const jobs = new BlockJobs(reader, key, block);
  let place = 0;
  for (let at = 0; at < indexes.length; ) {
    const index = indexes[at]!;
    while (groupEnd(block, place) <= index) place++;
    const end = groupEnd(block, place);
    const group = block.group(place);
    const alike: number[] = [];
    for (; at < indexes.length && indexes[at]! < end && alike.length < attemptsPerStep; at++) {
      const one = indexes[at]!;
      if (one >= first && (!isInside || isInside(jobId(key, one), group))) alike.push(one);
    }
    if (alike.length === 0 || !isWanted(group, block)) continue;
    // If an attempt cannot be decoded, all attempts of its job are left out.
    const attempts = fits && usableOf(alike[0]!, alike.at(-1)! + 1, (from, to) => endingsByJob(reader, key, from, to));
    for (const one of alike) if (!fits || fits(jobs, one, attempts!.get(one) ?? none, block)) yield one;
    yield null;
  }
}

const none: readonly NumberedAttempt[] = [];

function endingsByJob(reader: Reader, key: BlockKey, from: number, to: number): Map<number, NumberedAttempt[]> {
  const byJob = new Map<number, NumberedAttempt[]>();
  for (const ending of attemptsOf(reader, key, from, to)) {
    const known = byJob.get(ending.index);
    if (known) known.push(ending);
    else byJob.set(ending.index, [ending]);
  }
  return byJob;
}

function groupFilter(selection: Selection): Filters['isWanted'] {
  const { submittedBy, pipeline, children, withoutPhases, tags = [], rerunOf } = selection;
  return (group, { plugin, command }) => {
    if (!children && group.run !== null) return false;
    if (withoutPhases && group.phase !== undefined) return false;
    if (submittedBy !== null && group.submittedBy !== submittedBy) return false;
    if (!hasTags(group, tags)) return false;
    if (rerunOf && !(group.rerun && Buffer.compare(group.rerun.of, rerunOf) === 0)) return false;
    if (pipeline === null || (plugin === pipelinePlugin && command === pipeline)) return true;
    return children && group.pipeline === pipeline;
  };
}

function treeFilter(blocks: BlockCache, { run, root, parent }: Selection): Filters['isInside'] {
  const within: JobScopeFilter[] = [];
  if (run) within.push({ of: 'run', id: run });
  if (root) within.push({ of: 'root', id: root });
  if (parent) within.push({ of: 'parent', id: parent });
  return within.length === 0 ? null : membersOf(blocks, within);
}

function jobFilter({ selection, moment, words = noWords }: MatchOptions): Fits | null {
  const { status, jobId: only, fromUs, toUs } = selection;
  const { error, query, failure, searchedUs } = words;
  const isOfLogs = query !== undefined || fromUs !== null || toUs !== null;
  if (status === null && !isOfLogs && !error && !failure) return null;
  const endUs = Math.min(moment.commitUs, searchedUs ?? moment.commitUs);
  // The list of logs leaves out jobs that were cancelled before they started, unless it is asked for such jobs or for one job.
  const onlyStarted = status !== 'cancelled' && only === null;
  return (jobs, index, attempts, block) => {
    if (status !== null && statusAt(moment, jobs, index, attempts) !== status) return false;
    const searched = attempts.filter(({ attempt }) => attempt.completedUs <= endUs);
    const last = searched.at(-1)?.attempt;
    if (error && !(last && last.status !== 'succeeded' && error(last))) return false;
    if (failure && !(last && failure(last, block))) return false;
    if (!isOfLogs) return true;
    return searched.some(({ number, attempt }) => {
      if (onlyStarted && isNeverStarted(attempt.status, number)) return false;
      if (fromUs !== null && attempt.completedUs < fromUs) return false;
      if (toUs !== null && attempt.completedUs > toUs) return false;
      return query === undefined || query(attempt);
    });
  };
}

/**
 * The status that the job had at the moment of the selection, as far as the records still show it. A waiting job of a cancelled run counts as
 * queued until the ledger has written its end, as in the list of queued jobs (open-jobs.ts).
 */
function statusAt(
  { atUs, commitUs }: Moment,
  jobs: BlockJobs,
  index: number,
  attempts: readonly NumberedAttempt[],
): Status {
  const next = attempts.findIndex(({ attempt }) => attempt.completedUs > commitUs);
  const last = next < 0 ? attempts.at(-1) : attempts[next - 1];
  if (last?.attempt.final) return last.attempt.status;
  if (next >= 0) {
    const { number, attempt } = attempts[next]!;
    const hasRun = !isNeverStarted(attempt.status, number) && attempt.startedUs < attempt.completedUs;
    return hasRun && attempt.startedUs <= atUs ? 'running' : 'queued';
  }
  const runningUs = jobs.runningSince(index);
  return runningUs !== null && runningUs <= atUs ? 'running' : 'queued';
}
