// The command `headgate job reschedule`, which changes the time at which a delayed job or delayed run is to start.
import { Option } from 'commander';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { formatAt } from '../terminal/time.ts';

type Options = { readonly runAt?: string; readonly delay?: string };
type Answer = { readonly job_id: string; readonly status: string; readonly run_at: string };

export const jobReschedule = clientCommand<Options>({
  usage: 'job reschedule <job_id>',
  description: 'give a delayed job or run another time',
  examples: [
    'headgate job reschedule 0198c0de-0000-7000-8000-000000000000 --run-at 2026-12-01T06:00:00Z',
    'headgate job reschedule 0198c0de-0000-7000-8000-000000000000 --delay 10m',
  ],
  options: [
    new Option('--run-at <time>', 'the new time').conflicts(['delay']),
    new Option('--delay <duration>', 'the time from now on, such as 10m'),
  ],
  async run({ args, client, options, out }) {
    const { runAt, delay } = options;
    const body = { run_at: runAt, delay };
    const shape = { job_id: true, status: true, run_at: true } as const;
    const answer = await client.post<Answer>(`/job/${segment(args[0]!)}/reschedule`, shape, body);
    await out.answer(answer, () => [`${answer.job_id} runs at ${formatAt(answer.run_at)}`]);
  },
});
