// The command `headgate top`, which shows the overview live: on the whole terminal, or as lines.
import { setTimeout as pause } from 'node:timers/promises';
import { InvalidArgumentError, Option } from 'commander';
import { type ClientCall, clientCommand } from '../client/connect.ts';
import { fetchOverview, type OverviewDocument, settledPerSecond } from '../client/overview.ts';
import { isUnavailable } from '../failure.ts';
import { parseCount, parseMs } from '../quantity.ts';
import { type LaneOrder, laneOrders, overviewLine, overviewParts, sortedLanes } from '../terminal/overview.ts';

const intervalMsMin = 100;

type Options = {
  readonly interval: number;
  readonly sort: LaneOrder;
  readonly once?: true;
  readonly lines?: true;
  readonly count?: number;
};

export const topCommand = clientCommand<Options>({
  usage: 'top',
  description:
    'show live what is going on: counts, lanes, throughput, pauses and groups of failed jobs; q quits, p pauses the display',
  examples: ['headgate top', 'headgate top --once --sort oldest', 'headgate top --json --interval 10s --count 6'],
  options: [
    new Option('--interval <duration>', 'how often to refresh').argParser(parseInterval).default(1_000, '1s'),
    new Option('--sort <column>', 'the order of the lanes; a key changes it').choices(laneOrders).default('depth'),
    new Option('--once', 'print one overview, and end').conflicts(['lines', 'count']),
    new Option('--lines', 'print a line each time, as it does without a terminal'),
    new Option('--count <count>', 'print this many lines, and end').argParser(parseCount),
  ],
  async run(call) {
    const { options, client, io, out } = call;
    if (options.once) {
      const overview = await fetchOverview(client);
      const lanes = sortedLanes(overview.lanes, options.sort);
      return out.answer(overview, () => {
        const { head, lanes: table, failures } = overviewParts(overview, lanes, null);
        return [...head, '', ...table, ...(failures.length > 0 ? ['', ...failures] : [])];
      });
    }
    const isPlain = out.json || options.lines === true || options.count !== undefined;
    if (isPlain || !io.stdout.isTTY || io.env['TERM'] === 'dumb') return printLines(call);
    const { showLive } = await import('../client/live-overview.ts');
    const signal = await showLive(call, { intervalMs: options.interval, order: options.sort });
    // The screen's listener kept the signal from ending the process. The same signal, sent again, ends it as usual.
    if (signal !== null) process.kill(process.pid, signal);
  },
});

function parseInterval(text: string): number {
  const ms = parseMs(text);
  if (ms >= intervalMsMin) return ms;
  throw new InvalidArgumentError(`the shortest interval is ${intervalMsMin}ms.`);
}

/** Prints a line for each overview, until `--count` lines are printed, a call fails for good, or the process is interrupted. */
async function printLines({ options, client, out }: ClientCall<Options>): Promise<void> {
  let before: OverviewDocument | null = null;
  let isLost = false;
  for (let left = options.count ?? Number.POSITIVE_INFINITY; ; ) {
    const askedMs = performance.now();
    try {
      const overview: OverviewDocument = await fetchOverview(client);
      const perSecond = before && settledPerSecond(before, overview);
      await out.item(overview, () => overviewLine(overview, perSecond));
      before = overview;
      isLost = false;
      if (--left === 0) return;
    } catch (error) {
      // Any failure of the first overview ends the command. Later, the command tries again if the service is unavailable.
      if (before === null || !isUnavailable(error)) throw error;
      if (!isLost) out.note(`no answer (${error.message}); trying again`);
      isLost = true;
    }
    await pause(Math.max(0, askedMs + options.interval - performance.now()));
  }
}
