// `headgate job show`.
import type { AddressOptions } from '../client/address.ts';
import { resultText } from '../client/call.ts';
import { addressOptions, connect } from '../client/connect.ts';
import { fetchJob, type Job } from '../client/jobs.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { type Line, statusPiece } from '../terminal/text.ts';
import { formatAt, formatMs, spanMs } from '../terminal/time.ts';

export const jobShow = command<AddressOptions>({
  usage: 'job show <job_id>',
  description: 'show one job with its result',
  examples: ['headgate job show 0198c0de-0000-7000-8000-000000000000'],
  options: addressOptions(),
  async run(call) {
    const job = await fetchJob(await connect(call), call.args[0]!);
    await call.out.answer(job, () => lines(job));
    return exitStatus.ok;
  },
});

function lines(job: Job): Line[] {
  const waitedMs = spanMs(job.created_at, job.started_at);
  const ranMs = spanMs(job.started_at, job.completed_at);
  const all: Line[] = [
    field('job', job.job_id),
    [...label('status'), statusPiece(job.status)],
    field('what', `${job.plugin}.${job.command}`),
    field('attempt', String(job.attempt)),
    field('from', job.submitted_by),
    field('parent', job.parent_job_id ?? 'none'),
    field('created', formatAt(job.created_at)),
  ];
  if (waitedMs !== null) all.push(field('started', `${formatAt(job.started_at)}, after ${formatMs(waitedMs)}`));
  if (ranMs !== null) all.push(field('ended', `${formatAt(job.completed_at)}, after ${formatMs(ranMs)}`));
  if (job.last_error !== undefined) all.push(...block('error', job.last_error));
  for (const { level, message } of job.result?.logs ?? []) all.push(field('log', `${level}: ${message}`));
  const value = job.result?.result;
  if (value !== undefined && value !== null) all.push(...block('result', resultText(value)));
  return all;
}

function label(name: string): Line & readonly unknown[] {
  return [{ text: name.padEnd(9), style: 'dim' }];
}

function field(name: string, value: string): Line {
  return [...label(name), value];
}

/** Text of several lines stands below its name. */
function block(name: string, text: string): Line[] {
  const [first = '', ...rest] = text.split('\n');
  return rest.length === 0 ? [field(name, first)] : [label(name), ...text.split('\n').map(line => `  ${line}`)];
}
