// `headgate job rerun`.
import { type RerunOptions, rerun, rerunOptions } from '../client/call.ts';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';

export const jobRerun = clientCommand<RerunOptions>({
  usage: 'job rerun <job_id>',
  description: 'run a job that has ended again, as a new job',
  examples: [
    'headgate job rerun 0198c0de-0000-7000-8000-000000000000 --reason "the provider is back"',
    'headgate job rerun 0198c0de-0000-7000-8000-000000000000 --from failed --wait',
    `headgate job rerun 0198c0de-0000-7000-8000-000000000000 --payload '{"name":"Ada"}' --wait`,
  ],
  options: rerunOptions(),
  statuses: '0 the new job was accepted (with --wait: succeeded), 1 it failed, 5 it or the wait for it timed out',
  run: call => rerun(`/job/${segment(call.args[0]!)}/rerun`, call),
});
