// Draws the timeline of a run: a row with a strip for each step, the critical path, the slowest jobs, and the first failed jobs.
import { countText } from '../../runtime/text.ts';
import type { TimelineDocument } from '../../service/json/timeline.ts';
import { densityStrip } from './plot.ts';
import { table } from './table.ts';
import { dim, statusPiece, type TerminalLine } from './text.ts';
import { formatAt, formatUs } from './time.ts';

type TimelineStep = TimelineDocument['steps'][number];
type Named = Pick<TimelineStep, 'pipeline' | 'step' | 'phase' | 'plugin' | 'command'>;

const slowestShown = 5;
/** The maximum number of failed jobs that are listed for each step. */
const failedShown = 3;

export function timelineLines(timeline: TimelineDocument): TerminalLine[] {
  const { plugin, command, status, from, duration_us, count, reused = 0, steps } = timeline;
  const more = reused > 0 ? `, ${reused} reused` : '';
  const title: TerminalLine = [
    { text: `${plugin}.${command}`, style: 'bold' },
    ' ',
    statusPiece(status),
    ` ${formatUs(duration_us)} from ${formatAt(from)}, ${countText(count, 'job')}${more}`,
  ];
  const rows = steps.map(step => [
    nameOf(step, timeline),
    String(step.count),
    String(failuresIn(step)),
    ...[step.queue_us.p50, step.queue_us.p95, step.run_us.p50, step.run_us.p95, step.run_us.max].map(formatUs),
    { text: densityStrip(step.buckets.map(activityOf)), style: 'cyan' as const },
  ]);
  const columns = ['STEP', 'JOBS', 'FAILED', 'QUEUED P50', 'P95', 'RAN P50', 'P95', 'MAX', 'STARTS AND ENDS'];
  const scale = `one column is ${formatUs(timeline.bucket_us)}; × marks a failure`;
  return [
    title,
    ...(steps.length === 0 ? ['no jobs'] : [...table(columns, rows), [dim(scale)]]),
    ...pathLines(timeline),
    ...slowLines(timeline),
    ...failedLines(timeline),
  ];
}

function activityOf([started = 0, ended = 0, failed = 0, timedOut = 0, dead = 0]: readonly number[]) {
  return { count: started + ended, hasFailed: failed + timedOut + dead > 0 };
}

function pathLines(timeline: TimelineDocument): TerminalLine[] {
  const { critical_path: path, critical_path_cut: isCut, gaps } = timeline;
  if (path.length === 0) return [];
  const rows = path.map(step => [
    nameOf(step, timeline),
    String(step.jobs),
    ...[step.handing_out_us, step.waiting_us, step.running_us, step.retrying_us].map(formatUs),
    dim(step.job_id),
  ]);
  const { handing_out_us: handing, waiting_us: waiting, retrying_us: retrying, commit_us: commit } = gaps;
  const total =
    `no job of this path ran for ${formatUs(handing + waiting + retrying + commit)}: handing out ${formatUs(handing)}, ` +
    `waiting for workers ${formatUs(waiting)}, between attempts ${formatUs(retrying)}, last commit ${formatUs(commit)}`;
  return [
    '',
    heading(isCut ? 'Critical path (its beginning is missing)' : 'Critical path'),
    ...table(['STEP', 'JOBS', 'HANDING OUT', 'WAITED', 'RAN', 'BETWEEN ATTEMPTS', 'LAST JOB'], rows),
    [dim(total)],
  ];
}

function slowLines(timeline: TimelineDocument): TerminalLine[] {
  const slow = timeline.steps.flatMap(step => step.slowest.map(job => ({ ...job, name: nameOf(step, timeline) })));
  if (slow.length < 2) return [];
  slow.sort((a, b) => b.run_us - a.run_us);
  const rows = slow
    .slice(0, slowestShown)
    .map(({ name, run_us, status, job_id }) => [name, formatUs(run_us), statusPiece(status), dim(job_id)]);
  return ['', heading('Slowest jobs'), ...table(['STEP', 'RAN', 'STATUS', 'JOB'], rows)];
}

function failedLines(timeline: TimelineDocument): TerminalLine[] {
  const failed = timeline.steps.flatMap(step =>
    step.failed.slice(0, failedShown).map(job => ({ ...job, name: nameOf(step, timeline) })),
  );
  if (failed.length === 0) return [];
  const rows = failed.map(({ name, completed_at, status, job_id, error = '' }) => [
    name,
    formatAt(completed_at),
    statusPiece(status),
    dim(job_id),
    error,
  ]);
  return ['', heading('First failures'), ...table(['STEP', 'ENDED (UTC)', 'STATUS', 'JOB', 'ERROR'], rows)];
}

/** The name of a step and its phase. The pipeline comes first if the step is in another pipeline than the run of the timeline. */
function nameOf({ pipeline, step, phase, plugin, command }: Named, { command: own }: TimelineDocument): string {
  if (plugin === null) return '(further steps)';
  if (step === null) return `${plugin}.${command}`;
  const name = pipeline === own ? step : `${pipeline}/${step}`;
  return phase === undefined ? name : `${name} (${phase})`;
}

function failuresIn({ by_status: { failed = 0, timed_out = 0, dead = 0 } }: TimelineStep): number {
  return failed + timed_out + dead;
}

function heading(text: string): TerminalLine {
  return [{ text, style: 'bold' }];
}
