// The command `headgate job show`, which prints a job with its input and result.

import { Option } from 'commander';
import { countText } from '../../runtime/text.ts';
import { resultText } from '../client/call.ts';
import { clientCommand } from '../client/connect.ts';
import { countsText, fetchJob, type JobDocument } from '../client/jobs.ts';
import { parseMs } from '../quantity.ts';
import { jsonText } from '../terminal/json-text.ts';
import { field, statusPiece, type TerminalLine } from '../terminal/text.ts';
import { formatAt, formatMs, spanMs } from '../terminal/time.ts';

type Options = { readonly full?: boolean; readonly wait?: number };

export const jobShow = clientCommand<Options>({
  usage: 'job show <job_id>',
  description: 'show a job, its input and its result',
  examples: [
    'headgate job show 0198c0de-0000-7000-8000-000000000000',
    'headgate job show 0198c0de-0000-7000-8000-000000000000 --full --json | jq .payload',
    'headgate job show 0198c0de-0000-7000-8000-000000000000 --wait 30s',
  ],
  options: [
    new Option('--full', 'include payload and context even if they exceed 64 KiB'),
    new Option('--wait <duration>', 'wait until the job has ended, for at most 60s').argParser(parseMs),
  ],
  async run({ options, args, client, out }) {
    const job = await fetchJob(client, args[0]!, { whole: options.full ?? false, waitMs: options.wait });
    await out.answer(job, () => lines(job));
  },
});

function lines(job: JobDocument): TerminalLine[] {
  const waitedMs = spanMs(job.created_at, job.started_at);
  const ranMs = spanMs(job.started_at, job.completed_at);
  const all: TerminalLine[] = [
    field('job', job.job_id),
    field('status', statusPiece(job.status)),
    field('what', `${job.plugin}.${job.command}`),
    ...(job.counts === undefined ? [] : [field('inside', countsText(job.counts))]),
    field('attempt', String(job.attempt)),
    field('from', job.submitted_by),
    ...Object.entries(job.tags ?? {}).map(([key, text]) => field('tag', `${key}=${text}`)),
    field('parent', job.parent_job_id ?? 'none'),
    ...rerunLines(job),
    ...placeLines(job),
    field('created', formatAt(job.created_at)),
    ...timeLines(job),
  ];
  if (job.cancel !== undefined) all.push(field('cancel', cancelText(job)));
  if (job.waits_for !== undefined) all.push(field('waits', waitText(job.waits_for)));
  if (waitedMs !== null) all.push(field('started', `${formatAt(job.started_at)}, after ${formatMs(waitedMs)}`));
  if (ranMs !== null) all.push(field('ended', `${formatAt(job.completed_at)}, after ${formatMs(ranMs)}`));
  all.push(...inputLines(job));
  if (job.last_error !== undefined) all.push(...block('error', job.last_error));
  if (job.phase_error !== undefined) all.push(...block('phases', job.phase_error));
  for (const { level, message } of job.result?.logs ?? []) all.push(field('log', `${level}: ${message}`));
  const value = job.result?.result;
  if (value !== undefined && value !== null) all.push(...block('result', resultText(value)));
  return all;
}

function timeLines({ run_at, expires_at, deadline_at }: JobDocument): TerminalLine[] {
  const times = { 'run at': run_at, expires: expires_at, deadline: deadline_at };
  return Object.entries(times).flatMap(([name, at]) => (at === undefined ? [] : [field(name, formatAt(at))]));
}

/** The step and the run that the job belongs to, the job's position in a fork, and its phase. */
function placeLines({ pipeline, step_id: step, run_id: run, index, phase }: JobDocument): TerminalLine[] {
  if (pipeline == null || step == null) return [];
  const element = index == null ? '' : `, element ${index}`;
  const part = phase === undefined ? '' : `, in ${phase}`;
  return [field('step', `${pipeline}.${step}${element}${part}, of the run ${run}`)];
}

function rerunLines(job: JobDocument): TerminalLine[] {
  const { rerun_of: of, rerun_from: from, rerun_reason: reason, reruns = [], rerun_count: count = 0 } = job;
  const again = count === 0 ? [] : [field('reruns', `${count}, the newest: ${reruns[0]}`)];
  if (of === undefined) return again;
  const what = from === 'failed' ? `${of}, from its failed jobs` : of;
  return [field('rerun of', `${what}${reason === undefined ? '' : ` (${reason})`}`), ...again];
}

function inputLines({ event, payload, context, omitted = [] }: JobDocument): TerminalLine[] {
  const lines: TerminalLine[] = [];
  if (event != null) lines.push(field('event', `${event.type} from ${event.source}`));
  for (const [name, value] of Object.entries(event?.headers ?? {})) lines.push(field('header', `${name}: ${value}`));
  if (payload !== undefined) lines.push(...block('payload', jsonText(payload)));
  if (context !== undefined && Object.keys(context).length > 0) {
    lines.push(...block('context', jsonText(context)));
  }
  for (const name of omitted) lines.push(field(name, 'more than 64 KiB: --full shows it'));
  return lines;
}

function cancelText({ cancel, cancelling }: JobDocument): string {
  const { by, at, reason } = cancel!;
  const left = typeof cancelling === 'number' ? `; not ended yet: ${countText(cancelling, 'job')}` : '';
  return `by ${by} at ${formatAt(at)}${reason === undefined ? '' : `: ${reason}`}${left}`;
}

function waitText({ reason, detail, since, until }: NonNullable<JobDocument['waits_for']>): string {
  return `for ${reason} since ${formatAt(since)}${until === undefined ? '' : `, until ${formatAt(until)}`}: ${detail}`;
}

/** A name with its text: on one line if the text has one line, else with the text below the name. */
function block(name: string, text: string): TerminalLine[] {
  const [first = '', ...rest] = text.split('\n');
  return rest.length === 0 ? [field(name, first)] : [field(name), ...text.split('\n').map(line => `  ${line}`)];
}
