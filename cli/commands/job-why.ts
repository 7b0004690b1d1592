// The command `headgate job why`, which explains in one sentence why a job is not running.
import { clientCommand } from '../client/connect.ts';
import { fetchJob, isSettled, type JobDocument } from '../client/jobs.ts';
import { formatAt } from '../terminal/time.ts';

export const jobWhy = clientCommand({
  usage: 'job why <job_id>',
  description: 'explain in one sentence why a job is not running',
  examples: ['headgate job why 0198c0de-0000-7000-8000-000000000000'],
  async run({ args, client, out }) {
    let job = await fetchJob(client, args[0]!);
    for (let asked = 1; asked < questionsMax && isUnexplained(job); asked++) job = await fetchJob(client, args[0]!);
    const { job_id, status, waits_for = null } = job;
    await out.answer({ job_id, status, waits_for }, () => [sentenceOf(job)]);
  },
});

/** The maximum number of requests for the job. A busy service may leave out what the job waits for; the command then asks again. */
const questionsMax = 10;

function isUnexplained({ status, waits_for }: JobDocument): boolean {
  return waits_for === undefined && status !== 'running' && !isSettled(status);
}

/** The beginning of the sentence for each reason; the detail follows it. */
const beginnings: { readonly [reason: string]: string } = {
  worker: 'waits for a free worker',
  retry: 'waits for its next attempt',
  run_at: 'is delayed',
  schedule_queue: 'waits in the queue of its schedule',
  children: 'waits for its jobs',
  paused: 'is paused',
  plugin: 'is held, because its plugin cannot run',
  vault: 'waits for the vault',
  disk: 'waits for free space on the disk',
};

function sentenceOf({ plugin, command, status, waits_for: waits, completed_at }: JobDocument): string {
  const name = `${plugin}.${command}`;
  // A waiting job of a cancelled run is shown as cancelled before the service has written its end.
  if (isSettled(status) && completed_at === null) return `${name} was ${status} with its run, and will not run`;
  if (isSettled(status)) return `${name} ended at ${formatAt(completed_at)}: ${status}`;
  if (waits === undefined) return status === 'running' ? `${name} is running` : `${name} is about to run`;
  const { reason, detail, since, until } = waits;
  const beginning = beginnings[reason] ?? `waits for ${reason}`;
  const end = until === undefined ? '' : `, until ${formatAt(until)}`;
  return `${name} ${beginning}: ${detail} (since ${formatAt(since)}${end})`;
}
