// `headgate job run-now`.
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';

type Answer = { readonly job_id: string; readonly status: string; readonly rescheduled: boolean };

export const jobRunNow = clientCommand({
  usage: 'job run-now <job_id>',
  description: 'let a job that waits for its next attempt run at once',
  examples: ['headgate job run-now 0198c0de-0000-7000-8000-000000000000'],
  async run({ args, client, out }) {
    const shape = { job_id: true, status: true, rescheduled: true } as const;
    const answer = await client.post<Answer>(`/job/${segment(args[0]!)}/run-now`, shape);
    await out.answer(answer, () => [
      answer.rescheduled
        ? `${answer.job_id} is due now`
        : `${answer.job_id} is ${answer.status}, and waited for no time`,
    ]);
  },
});
