// The command `headgate job timeline`, which prints where the time of a run went.
import { Option } from 'commander';
import type { TimelineDocument } from '../../service/json/timeline.ts';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { parseCount } from '../quantity.ts';
import { timelineLines } from '../terminal/timeline.ts';

/** The maximum number of buckets that are drawn, unless `--buckets` is given. */
const columnsDefault = 40;

export const jobTimeline = clientCommand<{ readonly buckets?: number }>({
  usage: 'job timeline <job_id>',
  description: 'print where the time of a run went: counts and times by step, and the critical path',
  examples: [
    'headgate job timeline 0198c0de-0000-7000-8000-000000000000',
    'headgate job timeline 0198c0de-0000-7000-8000-000000000000 --json | jq .gaps',
  ],
  options: [
    new Option(
      '--buckets <count>',
      `divide the time into at most this many buckets (default: ${columnsDefault}; with --json 400)`,
    ).argParser(parseCount),
  ],
  async run({ args, options, client, out }) {
    const buckets = options.buckets ?? (out.json ? undefined : columnsDefault);
    const timeline = await client.get<TimelineDocument>(
      `/job/${segment(args[0]!)}/timeline`,
      { steps: ['count', 'buckets'], critical_path: ['jobs'], gaps: true },
      { buckets },
    );
    await out.answer(timeline, () => timelineLines(timeline));
  },
});
