// The command `headgate job rerun`, which reruns one settled job, or all jobs that match filters.
import { Option } from 'commander';
import { type ActOptions, act, actOptions, isOverMany } from '../client/actions.ts';
import { type RerunOptions, rerun, rerunOptions } from '../client/call.ts';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { tagOption } from '../client/tags.ts';
import { exitStatus } from '../exit-status.ts';
import { usageFailure } from '../failure.ts';
import { parseInstant } from '../quantity.ts';

const points = ['start', 'failed'] as const;
type Point = (typeof points)[number];
type Options = Omit<RerunOptions & ActOptions, 'from'> & { readonly from?: string };

/** The option `--from`: for a single job, the point from which it runs again; for many jobs, a filter. */
const fromOption = new Option(
  '--from <point>',
  'with an id: start, or failed (a run reuses the results of jobs that succeeded, and runs the rest); with filters, a time: only jobs with an attempt that ended then or later; 1h means an hour ago',
).argParser(text => (isPoint(text) ? text : parseInstant(text)));

export const jobRerun = clientCommand<Options>({
  usage: 'job rerun [job_id]',
  description: 'run an ended job again as a new job, or all jobs that match filters',
  examples: [
    'headgate job rerun 0198c0de-0000-7000-8000-000000000000 --reason "the provider is back"',
    'headgate job rerun 0198c0de-0000-7000-8000-000000000000 --from failed --wait',
    `headgate job rerun 0198c0de-0000-7000-8000-000000000000 --payload '{"name":"Ada"}' --wait`,
    `headgate job rerun --status dead --query '"ECONNREFUSED"' --from 1h --per-second 500`,
    'headgate job rerun 0198c0de-0000-7000-8000-000000000000 --tag ticket=4711',
    'headgate job rerun --pipeline import --status failed --from 1h --from-failed',
    'headgate job rerun --tag tenant=acme --status dead',
    'headgate job rerun --fingerprint 5f0c2ab17d94e836 --children --dry-run',
  ],
  options: [
    ...rerunOptions(),
    ...actOptions(
      fromOption,
      tagOption('with an id: a tag of the new job, instead of the old tags; with filters: only jobs with this tag'),
    ),
    new Option('--from-failed', 'runs reuse their jobs that succeeded; with an id the same as --from failed'),
  ],
  statuses:
    '0 the new job was accepted (with --wait: succeeded), 1 it failed, 5 it or the wait for it timed out, 6 it was cancelled',
  async run(call) {
    const { args, options } = call;
    const { from, fromFailed, tag, ...others } = options;
    if (isPoint(from) && args.length === 0)
      throw usageFailure(
        `--from ${from} is for a single job, given by id; with filters, --from is a time, such as 1h, and --from-failed reuses the jobs that succeeded`,
      );
    // With an id, these options say how the job runs again; with filters, they select jobs.
    const filters = { ...(from && !isPoint(from) && { from }), ...(tag && args.length === 0 && { tag }) };
    if (!isOverMany({ args, options: { ...others, ...filters } })) {
      const point = isPoint(from) ? from : fromFailed && 'failed';
      return rerun(`/job/${segment(args[0]!)}/rerun`, {
        ...call,
        options: { ...others, ...(tag && { tag }), ...(point && { from: point }) },
      });
    }
    const { payload, wait, timeout, idempotencyKey, delay, runAt, expires, deadline } = call.options;
    if ([payload, wait, timeout, idempotencyKey].some(given => given !== undefined))
      throw usageFailure('--payload, --wait, --timeout and --idempotency-key are for a single job, given by id');
    if ([delay, runAt, expires, deadline].some(given => given !== undefined))
      throw usageFailure('--delay, --run-at, --expires and --deadline are for a single job, given by id');
    await act('rerun', call);
    return exitStatus.ok;
  },
});

function isPoint(text: string | undefined): text is Point {
  return points.some(point => point === text);
}
