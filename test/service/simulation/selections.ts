// The filters of actions: those that are drawn, and the jobs that must match them.
import { errorLine, fingerprintOf, lineText, patternOf } from '../../../actors/index/records/fingerprint.ts';
import { hasFingerprint } from '../../../actors/index/views/jobs-of-failure.ts';
import { type JobOperation, type Moment, noSelection, type Selection } from '../../../actors/job/records/action.ts';
import { failureStatuses, headgatePlugin, pipelinePlugin, type Status } from '../../../actors/job/records/job.ts';
import { noWords, type WordChecks } from '../../../actors/job/views/matches.ts';
import { bodyPart } from '../../../runtime/host/wire/outcome.ts';
import { blockKeyMs, blockOf, formatId, parseId } from '../../../runtime/ids.ts';
import type { Commits, KnownAttempt, KnownJob } from './commits.ts';
import type { Dice } from './dice.ts';

/** The greatest distance between a limit of a filter and the time of a job. */
const nearUs = 3_000_000;

export function drawSelection(dice: Dice, operation: JobOperation, commits: Commits): Selection {
  const status = dice.pick<Status | null>(
    operation === 'rerun'
      ? ['failed', 'failed', 'dead', 'succeeded', 'cancelled', null]
      : [null, null, 'queued', 'running'],
  );
  const plugin = dice.pick([null, null, 'a', 'tally', 'throng', 'stubborn', pipelinePlugin]);
  const selection = {
    ...noSelection,
    plugin,
    status,
    submittedBy: dice.pick([null, null, 'x']),
    pipeline: plugin === null && dice.chance(0.2) ? dice.pick(['p', 'q']) : null,
    children: dice.chance(0.5),
    ...(operation === 'rerun' && { withoutPhases: true as const }),
  };
  if (dice.chance(0.65)) return selection;
  // Without the other limits, most of these filters match several jobs.
  const others = dice.chance(0.5)
    ? selection
    : { ...selection, plugin: null, status: null, submittedBy: null, pipeline: null, children: true };
  return { ...others, ...drawNarrowing(dice, [...commits.jobs()]) };
}

/** One more filter, which a job that exists matches. */
function drawNarrowing(dice: Dice, jobs: readonly KnownJob[]): Partial<Selection> {
  if (jobs.length === 0) return {};
  const around = (us: number) => us + dice.below(2 * nearUs) - nearUs;
  const one = dice.pick(jobs);
  switch (dice.below(5)) {
    case 0:
      return { tags: dice.pick([['a:1'], ['b:2'], ['a:1', 'b:2'], ['a:2']]) };
    case 1: {
      const at = acceptedUs(one);
      return { accepted: { fromUs: dice.chance(0.3) ? 0 : at - dice.below(nearUs), toUs: around(at) } };
    }
    case 2: {
      const endUs = one.attempts.at(-1)?.completedUs ?? acceptedUs(one);
      return { fromUs: dice.chance(0.3) ? null : around(endUs), toUs: dice.chance(0.3) ? null : endUs };
    }
    case 3: {
      const ofEach = jobs.flatMap(({ group }) => (group.rerun === null ? [] : [formatId(group.rerun.of)]));
      const ofSeveral = ofEach.filter((of, at) => ofEach.indexOf(of) < at);
      if (ofEach.length === 0) return {};
      return { rerunOf: parseId(dice.pick(ofSeveral.length > 0 ? ofSeveral : ofEach))! };
    }
    default: {
      const failed = jobs.filter(hasFailed);
      return failed.length === 0 ? {} : { fingerprint: fingerprintOfJob(dice.pick(failed)) };
    }
  }
}

/** The checks that the reads thread passes along with the filter. */
export function wordsOf({ fingerprint }: Selection, { commitUs }: Moment): WordChecks {
  if (fingerprint === undefined) return noWords;
  return { searchedUs: commitUs, failure: (attempt, owner) => hasFingerprint(fingerprint, attempt, owner) };
}

/** Whether the job may have matched as of the last commit; queued and running jobs are not told apart. */
export function mayMatch(commits: Commits, job: KnownJob, selection: Selection, { block }: Moment): boolean {
  const { id, plugin, command, group, attempts } = job;
  if (plugin === headgatePlugin || commits.prunedAt(id) !== null) return false;
  if (Buffer.compare(blockOf(parseId(id)!), block) >= 0) return false;
  if (selection.plugin !== null && plugin !== selection.plugin) return false;
  if (selection.submittedBy !== null && group.submittedBy !== selection.submittedBy) return false;
  if (!selection.children && group.run !== null) return false;
  if (selection.withoutPhases && group.phase !== undefined) return false;
  const isRun = plugin === pipelinePlugin && command === selection.pipeline;
  const isInside = selection.children && group.pipeline === selection.pipeline;
  if (selection.pipeline !== null && !isRun && !isInside) return false;
  if (!isNarrow(commits, job, selection)) return false;
  const last = attempts.at(-1);
  const { status } = selection;
  return status === null || (last?.final ? last.status === status : !isSure(selection));
}

function isNarrow(commits: Commits, job: KnownJob, selection: Selection): boolean {
  const { tags = [], accepted, fromUs, toUs, rerunOf, fingerprint } = selection;
  const given: object = JSON.parse(job.group.options?.tags ?? '{}');
  const own = Object.entries(given).map(([key, text]) => `${key}:${text}`);
  if (!tags.every(tag => own.includes(tag))) return false;
  const atUs = acceptedUs(job);
  if (accepted && (atUs < accepted.fromUs || atUs > accepted.toUs)) return false;
  const isListed = ({ number, status }: KnownAttempt) =>
    selection.status === 'cancelled' || status !== 'cancelled' || number > 0;
  const isEndedIn = (attempt: KnownAttempt) =>
    isListed(attempt) &&
    (fromUs === null || attempt.completedUs >= fromUs) &&
    (toUs === null || attempt.completedUs <= toUs);
  if ((fromUs !== null || toUs !== null) && !job.attempts.some(isEndedIn)) return false;
  if (fingerprint !== undefined && !(hasFailed(job) && fingerprintOfJob(job) === fingerprint)) return false;
  if (!rerunOf) return true;
  // The reruns of a job are known as long as it is stored.
  const of = formatId(rerunOf);
  return job.group.rerun !== null && formatId(job.group.rerun.of) === of && commits.prunedAt(of) === null;
}

/** Whether the filter matches ended jobs by their ends alone, so that `mayMatch` is exact. */
export function isSure({ status }: Selection): boolean {
  return status !== 'queued' && status !== 'running' && status !== 'cancelled';
}

/** The time in the id is later than that of creation while a clock that was set back has not caught up. */
function acceptedUs({ id, createdUs }: KnownJob): number {
  return Math.max(createdUs, 1000 * blockKeyMs(blockOf(parseId(id)!)));
}

function hasFailed({ attempts }: KnownJob): boolean {
  const last = attempts.at(-1);
  return last?.final === true && failureStatuses.some(status => status === last.status);
}

function fingerprintOfJob({ plugin, command, attempts }: KnownJob): string {
  return fingerprintOf(plugin, command, patternOf(lineText(errorLine(bodyPart(attempts.at(-1)!.body, 'error')))));
}
