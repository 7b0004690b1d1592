// The command `headgate job run-now`, which makes delayed jobs, and jobs that wait for their next attempt, run at once.
import { Option } from 'commander';
import { type ActOptions, act, actOptions, isOverMany } from '../client/actions.ts';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { usageFailure } from '../failure.ts';

type Answer = { readonly job_id: string; readonly status: string; readonly rescheduled: boolean };

export const jobRunNow = clientCommand<ActOptions>({
  usage: 'job run-now [job_id]',
  description:
    'run a delayed job, or a job that waits for its next attempt, at once; or all such jobs that match filters',
  examples: [
    'headgate job run-now 0198c0de-0000-7000-8000-000000000000',
    'headgate job run-now --plugin mailer --status queued --limit 100',
  ],
  options: [new Option('--reason <text>', 'with filters: why; shown with the action'), ...actOptions()],
  async run(call) {
    const { args, client, out } = call;
    if (isOverMany(call)) return act('run_now', call);
    if (call.options.reason !== undefined)
      throw usageFailure('--reason is only for actions over many jobs: leave it out, or select jobs with filters');
    const shape = { job_id: true, status: true, rescheduled: true } as const;
    const answer = await client.post<Answer>(`/job/${segment(args[0]!)}/run-now`, shape);
    await out.answer(answer, () => [
      answer.rescheduled ? `${answer.job_id} is due now` : `${answer.job_id} was due already: it is ${answer.status}`,
    ]);
  },
});
