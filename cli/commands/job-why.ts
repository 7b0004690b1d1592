// The command `headgate job why`, which explains in one sentence why a job is not running, or how it ended.
import type { Client } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { fetchJob, isSettled, type JobDocument } from '../client/jobs.ts';
import type { Page } from '../client/lists.ts';
import { CommandFailure } from '../failure.ts';
import { formatAt } from '../terminal/time.ts';

/** The queued jobs inside a run: their number, and the one that was accepted last. */
type QueuedInside = { readonly total: string; readonly newest: JobDocument };

export const jobWhy = clientCommand({
  usage: 'job why <job_id>',
  description:
    'explain in one sentence why a job is not running, or how it ended; for a run, also what its newest queued job waits for',
  examples: ['headgate job why 0198c0de-0000-7000-8000-000000000000'],
  async run({ args, client, out }) {
    const job = await fetchExplained(client, args[0]!);
    const { job_id, status, waits_for = null, last_error } = job;
    const inside = waits_for?.reason === 'children' ? await queuedInside(client, job_id) : null;
    const newest = inside && { job_id: inside.newest.job_id, waits_for: inside.newest.waits_for ?? null };
    const document = {
      ...{ job_id, status, waits_for },
      ...(newest && { newest_queued: newest }),
      ...(last_error !== undefined && { last_error }),
    };
    await out.answer(document, () => [sentenceOf(job) + (inside ? insideText(inside) : '')]);
  },
});

/** The maximum number of requests for the job. A busy service may leave out what the job waits for; the command then asks again. */
const questionsMax = 10;

async function fetchExplained(client: Client, id: string): Promise<JobDocument> {
  let job = await fetchJob(client, id);
  for (let asked = 1; asked < questionsMax && isUnexplained(job); asked++) job = await fetchJob(client, id);
  return job;
}

function isUnexplained({ status, waits_for }: JobDocument): boolean {
  return waits_for === undefined && status !== 'running' && !isSettled(status);
}

/** Null if no job inside the run is queued, or the service does not say: for example if the token may not list jobs. */
async function queuedInside(client: Client, run: string): Promise<QueuedInside | null> {
  try {
    const query = { run, status: 'queued', limit: 1 };
    const page = await client.get<Page & { readonly jobs: readonly JobDocument[] }>(
      '/jobs',
      { jobs: ['job_id'] },
      query,
    );
    const [first] = page.jobs;
    if (first === undefined) return null;
    const total = page.total_at_least ? `${page.total} or more` : String(page.total);
    return { total, newest: await fetchExplained(client, first.job_id) };
  } catch (error) {
    if (error instanceof CommandFailure) return null;
    throw error;
  }
}

function insideText({ total, newest }: QueuedInside): string {
  return `; ${total} of them ${total === '1' ? 'is' : 'are'} queued: ${sentenceOf(newest)}`;
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

function sentenceOf(job: JobDocument): string {
  const { plugin, command, status, waits_for: waits, completed_at } = job;
  const name = `${plugin}.${command}`;
  // A waiting job of a cancelled run is shown as cancelled before the service has written its end.
  if (isSettled(status) && completed_at === null) return `${name} was ${status} with its run, and will not run`;
  if (isSettled(status)) return `${name} ended at ${formatAt(completed_at)}: ${status}${errorText(job)}`;
  if (waits === undefined) return status === 'running' ? `${name} is running` : `${name} is about to run`;
  const { reason, detail, since, until } = waits;
  const beginning = beginnings[reason] ?? `waits for ${reason}`;
  const end = until === undefined ? '' : `, until ${formatAt(until)}`;
  return `${name} ${beginning}: ${detail} (since ${formatAt(since)}${end})`;
}

/** The first line of the job's error. */
function errorText({ last_error }: JobDocument): string {
  return last_error === undefined ? '' : `: ${last_error.split('\n', 1)[0]}`;
}
