// The command `headgate job cancel`, which cancels jobs by id, or all jobs that match filters.
import { Option } from 'commander';
import { type ActOptions, act, actOptions, isOverMany } from '../client/actions.ts';
import { type Client, segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { isSettled } from '../client/jobs.ts';
import { settledJob } from '../client/waiting.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, usageFailure } from '../failure.ts';
import { statusPiece, type TerminalLine } from '../terminal/text.ts';

type Options = ActOptions & { readonly detached?: true; readonly force?: true; readonly wait?: true };
type Cancelled = { readonly job_id: string; readonly status: string; readonly cancelling?: true };

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
    new Option('--detached', 'for a run: also cancel the runs that events of its jobs have started, and so on'),
    new Option('--force', 'also stop a run that is in its phase "finally"'),
    new Option('--wait', 'wait until jobs that were running have ended'),
    ...actOptions(),
  ],
  statuses: '0 the jobs are cancelled or being stopped, 1 one of them had ended already, or succeeded first',
  async run(call) {
    const { options, args, client, out } = call;
    if (isOverMany(call)) {
      if (options.wait || options.detached || options.force)
        throw usageFailure('--wait, --detached and --force are for single jobs, given by id');
      await act('cancel', call);
      return exitStatus.ok;
    }
    const jobs: Cancelled[] = [];
    for (const id of args as readonly string[]) {
      const job = await cancel(client, id, options);
      if (!options.wait || isSettled(job.status)) jobs.push(job);
      else jobs.push({ job_id: id, status: (await settledJob(client, id, null, out)).status });
    }
    await out.answer({ jobs }, () => jobs.map(line));
    return jobs.every(isStopped) ? exitStatus.ok : exitStatus.failed;
  },
});

/** Cancels one job. If it has already ended, returns its status instead of throwing, so that the other jobs are still cancelled. */
async function cancel(client: Client, id: string, { reason, detached, force }: Options): Promise<Cancelled> {
  try {
    const body = { ...(reason !== undefined && { reason }), ...(detached && { detached }) };
    const path = `/job/${segment(id)}/cancel${force ? '?force=true' : ''}`;
    return await client.post<Cancelled>(path, { job_id: true, status: true }, body);
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.problem.code !== 'already_settled') throw error;
    return { job_id: id, status: String(error.problem['job_status']) };
  }
}

function isStopped({ status, cancelling }: Cancelled): boolean {
  return status === 'cancelled' || cancelling === true;
}

function line(job: Cancelled): TerminalLine {
  const note = job.cancelling ? ', being stopped' : isStopped(job) ? '' : ': it had ended already';
  return [`${job.job_id} `, statusPiece(job.status), note];
}
