// The command `headgate job cancel`, which cancels jobs by id, or all jobs that match filters.
import { Option } from 'commander';
import { type ActOptions, act, actOptions, isOverMany } from '../client/actions.ts';
import { type Client, segment } from '../client/client.ts';
import { type ClientCall, clientCommand } from '../client/connect.ts';
import { isSettled } from '../client/jobs.ts';
import { settledJob } from '../client/waiting.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, type ProblemDocument, usageFailure } from '../failure.ts';
import { statusPiece, type TerminalLine } from '../terminal/text.ts';

type Options = ActOptions & { readonly detached?: true; readonly force?: true; readonly wait?: true };
type Cancelled = {
  readonly job_id: string;
  readonly status: string;
  readonly cancelling?: true;
  /** Why the wait for the end failed. */
  readonly problem?: ProblemDocument;
};
type Refused = { readonly job_id: string; readonly problem: ProblemDocument };

export const jobCancel = clientCommand<Options>({
  usage: 'job cancel [job_id...]',
  description: 'cancel jobs by id, or all jobs that match filters; a run is cancelled with everything in it',
  examples: [
    'headgate job cancel 0198c0de-0000-7000-8000-000000000000',
    'headgate job cancel 0198c0de-0000-7000-8000-000000000000 --reason "wrong input" --wait',
    'headgate job cancel --plugin mailer --status queued --dry-run',
    'headgate job cancel --tag tenant=acme --status queued',
  ],
  options: [
    new Option('--reason <text>', 'why; shown with the jobs'),
    new Option(
      '--detached',
      'for a run: also cancel the runs that events of its jobs have started, and in turn those that their events have started',
    ),
    new Option('--force', 'also stop a run that is in its phase "finally"'),
    new Option('--wait', 'wait until jobs that were running have ended'),
    ...actOptions(),
  ],
  statuses:
    '0 the jobs are cancelled or being stopped, 1 a job had ended already, succeeded first or (of several) could not be cancelled',
  async run(call) {
    const { options, args, client, out } = call;
    if (isOverMany(call)) {
      if (options.wait || options.detached || options.force)
        throw usageFailure('--wait, --detached and --force are for single jobs, given by id');
      await act('cancel', call);
      return exitStatus.ok;
    }
    const jobs: (Cancelled | Refused)[] = [];
    for (const id of args) {
      const isAnyDone = jobs.some(job => !('problem' in job));
      jobs.push(await cancel(client, id, options, args.length > 1, isAnyDone));
    }
    // All jobs are cancelled before the first wait, because a job can take long to end.
    const awaited = new Set<string>();
    for (const [at, job] of jobs.entries()) {
      if (!options.wait || !('status' in job) || isSettled(job.status)) continue;
      awaited.add(job.job_id);
      jobs[at] = await ended(job, call);
    }
    await out.answer({ jobs }, () => jobs.map(job => line(job, awaited.has(job.job_id))));
    return jobs.every(isStopped) ? exitStatus.ok : exitStatus.failed;
  },
});

/** Waits for the end of a job that is being stopped. If the job is one of several, a failure of the wait is returned. */
async function ended(job: Cancelled, { args, client, out }: ClientCall): Promise<Cancelled> {
  try {
    const { job_id, status } = await settledJob(client, job.job_id, null, out);
    return { job_id, status };
  } catch (error) {
    if (args.length === 1 || !(error instanceof CommandFailure)) throw error;
    return { ...job, problem: error.problem };
  }
}

/** The codes of refusals that concern only one job. After such a refusal, the other given jobs are still cancelled. */
const refusals: readonly unknown[] = ['unknown_job', 'ending'];

/**
 * Cancels one job. If the job has already ended, returns its status instead of throwing. If the job is one of several, also returns a
 * refusal that is listed in `refusals`. If another job has been cancelled before (`isAnyDone`), returns every failure.
 */
async function cancel(
  client: Client,
  id: string,
  { reason, detached, force }: Options,
  isOneOfSeveral: boolean,
  isAnyDone: boolean,
): Promise<Cancelled | Refused> {
  try {
    const path = `/job/${segment(id)}/cancel${force ? '?force=true' : ''}`;
    return await client.post<Cancelled>(path, { job_id: true, status: true }, { reason, detached });
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const { problem } = error;
    if (problem.code === 'already_settled') return { job_id: id, status: String(problem['job_status']) };
    if (isAnyDone || (isOneOfSeveral && refusals.includes(problem.code))) return { job_id: id, problem };
    if (problem.code === 'ending') throw new CommandFailure(error.exitStatus, problem, error, 'add --force to stop it');
    throw error;
  }
}

function isStopped(job: Cancelled | Refused): boolean {
  return 'status' in job && job.problem === undefined && (job.status === 'cancelled' || job.cancelling === true);
}

/** `isAwaited`: whether the job had not ended when it was cancelled, and its end was waited for. */
function line(job: Cancelled | Refused, isAwaited: boolean): TerminalLine {
  if (!('status' in job)) return [`${job.job_id} `, { text: 'not cancelled', style: 'red' }, `: ${job.problem.detail}`];
  if (job.problem) return [`${job.job_id} `, statusPiece(job.status), `, being stopped: ${job.problem.detail}`];
  const tooLate = isAwaited ? ' before it was stopped' : ': it had ended already';
  const note = job.cancelling ? ', being stopped' : isStopped(job) ? '' : tooLate;
  return [`${job.job_id} `, statusPiece(job.status), note];
}
