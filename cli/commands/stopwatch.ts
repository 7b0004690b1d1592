// The command `headgate stopwatch`, which plots how long the commands and steps of a plugin waited and ran, and compares two windows.
import { Option } from 'commander';
import { clientCommand } from '../client/connect.ts';
import { compare, minuteOf, parseTimeRange, readStopwatch, type TimeRange } from '../client/stopwatch.ts';
import type { TextOptions } from '../command.ts';
import { gather, parseInstant } from '../quantity.ts';
import { comparisonLines, figureLines, seriesLines } from '../terminal/stopwatch.ts';

type Options = TextOptions<'since' | 'from' | 'to'> & {
  readonly step?: readonly string[];
  readonly subs?: true;
  readonly series?: true;
  readonly compare?: TimeRange;
};

export const stopwatchCommand = clientCommand<Options>({
  usage: 'stopwatch <plugin>',
  description: 'plot how long the commands and steps of a plugin waited and ran, or compare two windows',
  examples: [
    'headgate stopwatch greet --since 2h --subs',
    'headgate stopwatch greet --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z --series',
    'headgate stopwatch greet --compare 2h..1h',
    'headgate stopwatch greet --compare 8d..7d --from 1d --step handle.run',
  ],
  options: [
    new Option('--since <time>', 'from this RFC 3339 time on; 2h means two hours ago (default: 24h)').argParser(
      parseInstant,
    ),
    new Option('--from <time>', 'another name of --since').argParser(parseInstant).conflicts('since'),
    new Option('--to <time>', 'up to this time (default: now)').argParser(parseInstant),
    new Option('--step <step>', 'only this step, such as handle.run; may be given several times').argParser(gather),
    new Option('--subs', 'include the spans that the plugin measured inside its steps'),
    new Option('--series', 'plot counts and percentiles over time, and name the jobs with the longest times').conflicts(
      'subs',
    ),
    new Option(
      '--compare <window>',
      'compare this window, such as 2h..1h, with the one from --from to --to (default: from the end of this window until now)',
    )
      .argParser(parseTimeRange)
      .conflicts(['since', 'subs', 'series']),
  ],
  async run({ options, args, client, out }) {
    const plugin = args[0]!;
    const { since, from, to, step, subs, series, compare: earlier } = options;
    if (earlier !== undefined) {
      const before = await readStopwatch(client, plugin, {
        from: minuteOf(earlier.from),
        to: minuteOf(earlier.to),
        step,
      });
      const after = await readStopwatch(client, plugin, {
        from: minuteOf(from ?? earlier.to),
        to: to && minuteOf(to),
        step,
      });
      const comparison = compare(before, after);
      await out.answer(comparison, () => comparisonLines(comparison));
      return;
    }
    const document = await readStopwatch(client, plugin, { since, from, to, step, series, include_subs: subs });
    await out.answer(document, () => (series ? seriesLines(document) : figureLines(document)));
    if (document.subs_unavailable !== undefined) out.note(`no subs: ${document.subs_unavailable}`);
    if (document.exemplars_unavailable !== undefined) out.note(`no jobs: ${document.exemplars_unavailable}`);
  },
});
