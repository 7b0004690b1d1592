// The output of the bench "peers": the contestants and their settings, each kind of work, and how many times better headgate is.
import type { Metric } from '../bench.ts';
import type { Ratio } from '../ratio.ts';
import { columns } from '../report.ts';
import { ratioOf, type Turns, typical, type Work } from './works.ts';

export type Contest = {
  readonly turns: Turns;
  readonly works: readonly Work[];
  /** The peers whose acknowledged jobs are on disk. headgate is compared with these. */
  readonly synced: readonly string[];
  /** Peers that could not be measured, with the reason. */
  readonly missing: { readonly [peer: string]: string };
};

const own = 'headgate';

/**
 * The metrics of the bench, with the names `<work>.<contestant>`, `<work>.ratio`, `<work>.ratio_least` and
 * `<work>.ratio_most`.
 */
export function contestMetrics(contest: Contest): Metric[] {
  const { turns, works } = contest;
  return works.flatMap(work => {
    const figures = Object.keys(turns).flatMap((name): Metric[] => {
      const value = typical(work, turns[name]!);
      return value === null ? [] : [{ name: `${work.name}.${name}`, value, unit: work.unit }];
    });
    const ratio = ratioToBest(contest, work);
    if (ratio === null) return figures;
    const entries = { ratio: ratio.median, ratio_least: ratio.least, ratio_most: ratio.most };
    const ratios = Object.entries(entries).map(([name, value]) => ({ name: `${work.name}.${name}`, value, unit: 'x' }));
    return [...figures, ...ratios];
  });
}

export function contestTable(contest: Contest): string {
  const { turns, works, missing } = contest;
  const names = Object.keys(turns);
  const head = ['', '', ...names, 'times better', 'target'];
  const rows = works.map(work => [
    work.name,
    work.unit,
    ...names.map(name => shown(typical(work, turns[name]!))),
    shownRatio(ratioToBest(contest, work)),
    shownTarget(ratioToBest(contest, work), work.target),
  ]);
  const facts = names.map(name => {
    const { facts, shortfall, drained } = turns[name]!.find(figures => figures !== null)!;
    const { versions, durability, handlers, records, join } = facts;
    const size = `drain of ${drained.toLocaleString('en')}`;
    const parts = [versions, durability, `handlers ${handlers}`, `records ${records}`, `join ${join}`, size];
    return `${name}: ${[...parts, ...(shortfall === null ? [] : [shortfall])].join('; ')}`;
  });
  const absent = Object.entries(missing).map(([name, reason]) => `${name}: not measured: ${reason}`);
  return [...columns([head, ...rows], 2), '', ...facts, ...absent, ''].map(line => `  ${line}`.trimEnd()).join('\n');
}

/** How many times better headgate is than the best of the synced peers, over all rounds. */
function ratioToBest({ turns, synced }: Contest, work: Work): Ratio | null {
  const others = synced.flatMap(name => (turns[name] ? [turns[name]] : []));
  return ratioOf(work, turns[own] ?? [], others);
}

function shown(value: number | null): string {
  if (value === null) return '–';
  return value.toLocaleString('en', { maximumFractionDigits: value >= 100 ? 0 : 1 });
}

function shownRatio(ratio: Ratio | null): string {
  if (ratio === null) return '–';
  return `${ratio.median.toFixed(2)} (${ratio.least.toFixed(2)}–${ratio.most.toFixed(2)})`;
}

function shownTarget(ratio: Ratio | null, target: number | undefined): string {
  if (target === undefined) return '';
  const verdict = ratio === null ? '' : ratio.median >= target ? ' met' : ' MISSED';
  return `≥ ${target.toFixed(2)}${verdict}`;
}
