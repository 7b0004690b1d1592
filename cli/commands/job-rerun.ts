// `headgate job rerun`.
import { type ActOptions, act, actOptions, isOverMany } from '../client/actions.ts';
import { type RerunOptions, rerun, rerunOptions } from '../client/call.ts';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { exitStatus } from '../exit-status.ts';
import { usageFailure } from '../failure.ts';

export const jobRerun = clientCommand<RerunOptions & ActOptions>({
  usage: 'job rerun [job_id]',
  description: 'run a job that has ended again, as a new job, or all that match filters',
  examples: [
    'headgate job rerun 0198c0de-0000-7000-8000-000000000000 --reason "the provider is back"',
    'headgate job rerun 0198c0de-0000-7000-8000-000000000000 --from failed --wait',
    `headgate job rerun 0198c0de-0000-7000-8000-000000000000 --payload '{"name":"Ada"}' --wait`,
    `headgate job rerun --status dead --query '"ECONNREFUSED"' --from 1h --per-second 500`,
  ],
  options: [...rerunOptions(), ...actOptions()],
  statuses: '0 the new job was accepted (with --wait: succeeded), 1 it failed, 5 it or the wait for it timed out',
  async run(call) {
    if (!isOverMany(call)) return rerun(`/job/${segment(call.args[0]!)}/rerun`, call);
    const { payload, wait, timeout, idempotencyKey } = call.options;
    if ([payload, wait, timeout, idempotencyKey].some(given => given !== undefined))
      throw usageFailure('--payload, --wait, --timeout and --idempotency-key are for a single job, given by id');
    await act('rerun', call);
    return exitStatus.ok;
  },
});
