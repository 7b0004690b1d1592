// The command `headgate stopwatch`, which plots how long the commands and steps of a plugin waited and ran.
import { Option } from 'commander';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { parseInstant } from '../quantity.ts';
import { percentileBar, sparkline } from '../terminal/plot.ts';
import { table } from '../terminal/table.ts';
import type { Piece, TerminalLine } from '../terminal/text.ts';
import { formatMs } from '../terminal/time.ts';

type Figures = {
  readonly sample_count: number;
  readonly p50_us: number;
  readonly p95_us: number;
  readonly p99_us: number;
  readonly max_us: number;
};
type Sub = Figures & { readonly name: string };
type Step = Figures & {
  readonly step: string;
  readonly trend_p95_ms: readonly number[];
  readonly subs?: readonly Sub[];
};
type Stopwatch = {
  readonly plugin: string;
  readonly window: string;
  readonly steps: readonly Step[];
  readonly subs_unavailable?: string;
};

const barColumns = 24;

export const stopwatchCommand = clientCommand<{ readonly since?: string; readonly subs?: true }>({
  usage: 'stopwatch <plugin>',
  description: 'plot how long the commands and steps of a plugin waited and ran',
  examples: ['headgate stopwatch greet --since 2h --subs'],
  options: [
    new Option('--since <time>', 'from this RFC 3339 time on; 2h means two hours ago (default: 24h)').argParser(
      parseInstant,
    ),
    new Option('--subs', 'include the spans that the plugin measured inside its steps'),
  ],
  async run({ options: { since, subs }, args, client, out }) {
    const stopwatch = await client.get<Stopwatch>(
      `/stopwatch/${segment(args[0]!)}`,
      { plugin: true, steps: ['step', 'sample_count'] },
      { since, include_subs: subs },
    );
    await out.answer(stopwatch, () => lines(stopwatch));
    if (stopwatch.subs_unavailable !== undefined) out.note(`no subs: ${stopwatch.subs_unavailable}`);
  },
});

/**
 * A row for each step that has samples: percentiles, a bar to the scale of all rows, and the course of p95 over the window. The
 * spans of a step have rows below the step.
 */
function lines({ plugin, window, steps }: Stopwatch): TerminalLine[] {
  const measured = steps.filter(step => step.sample_count > 0);
  const title: TerminalLine = [{ text: plugin, style: 'bold' }, `, last ${window}`];
  if (measured.length === 0) return [title, 'no measurements'];
  const scaleUs = Math.max(...measured.map(({ p99_us: p99 }) => p99));
  const rows = measured.flatMap(step => [
    [step.step, ...figures(step, scaleUs), { text: sparkline(step.trend_p95_ms), style: 'cyan' as const }],
    ...(step.subs ?? []).map(sub => [`  ${sub.name}`, ...figures(sub, scaleUs), '']),
  ]);
  const idle = steps.length - measured.length;
  const scale = `█ to p50, ▓ to p95, ░ to p99; the widest bar is ${formatMs(scaleUs / 1000)}`;
  return [
    title,
    ...table(['STEP', 'COUNT', 'P50', 'P95', 'P99', 'MAX', 'P50 P95 P99', `P95 OVER ${window}`], rows),
    [{ text: idle > 0 ? `${scale}; ${idle} without samples` : scale, style: 'dim' }],
  ];
}

function figures({ sample_count: count, p50_us, p95_us, p99_us, max_us }: Figures, scaleUs: number): Piece[] {
  const times = [p50_us, p95_us, p99_us, max_us].map(us => formatMs(us / 1000));
  return [String(count), ...times, percentileBar([p50_us, p95_us, p99_us], scaleUs, barColumns)];
}
