// The kinds of work that are compared, and how many times better one contestant is than another at each kind.
import type { TurnFigures, TurnPlan } from '../peers/turn.ts';
import { median, percentile } from '../percentile.ts';
import { type Ratio, spreadOf } from '../ratio.ts';

export type Work = {
  readonly name: string;
  readonly unit: '1/s' | 'us' | 'ms';
  /**
   * The figure that is compared. A rate is better if it is larger; a time is better if it is smaller. Null: there is
   * none.
   */
  readonly value: (figures: TurnFigures) => number | null;
  /** How many times better headgate should be than the best peer. */
  readonly target?: number;
};

/** The figures of each contestant, one entry per turn. Null: the turn was not measured. */
export type Turns = { readonly [contestant: string]: readonly (TurnFigures | null)[] };

const fanoutTargets: { readonly [children: number]: number } = { 1000: 6, 100000: 12 };

export function worksOf({ runsAtOnce, fanouts }: Pick<TurnPlan, 'runsAtOnce' | 'fanouts'>): Work[] {
  return [
    { name: 'submit_one', unit: '1/s', value: ({ oneRate }) => oneRate },
    { name: 'submit_in_flight', unit: '1/s', value: ({ flightRate }) => flightRate, target: 1.2 },
    { name: 'submit_bulk', unit: '1/s', value: ({ bulkRate }) => bulkRate },
    { name: 'drain', unit: '1/s', value: ({ drainRate }) => drainRate, target: 4 },
    { name: 'start_p50', unit: 'us', value: ({ startUs }) => percentile(startUs, 50), target: 1 / 0.6 },
    { name: 'steps_p50', unit: 'us', value: ({ runUs }) => percentile(runUs, 50), target: 2 },
    ...runsAtOnce.map((width, n): Work => {
      return { name: `steps_${width}`, unit: '1/s', value: ({ runRates }) => runRates[n]!, target: 2.5 };
    }),
    ...fanouts.map((children, n): Work => {
      const target = fanoutTargets[children];
      const work: Work = { name: `fanout_${children}`, unit: 'ms', value: ({ fanoutUs }) => ms(fanoutUs[n]) };
      return target === undefined ? work : { ...work, target };
    }),
  ];
}

/** Null: the contestant did not do this work. */
function ms(us: number | null | undefined): number | null {
  return us == null ? null : us / 1000;
}

/**
 * How many times better `own` is than the best of the others, over the rounds in which both did this work. Null: there
 * is no such round.
 */
export function ratioOf(work: Work, own: Turns[string], others: readonly Turns[string][]): Ratio | null {
  const ratios = own.flatMap((figures, round) => {
    const mine = figures && work.value(figures);
    const theirs = others.map(turns => turns[round] && work.value(turns[round])).filter(value => value != null);
    if (mine == null || theirs.length === 0) return [];
    return [work.unit === '1/s' ? mine / Math.max(...theirs) : Math.min(...theirs) / mine];
  });
  return spreadOf(ratios);
}

/** The median over a contestant's turns; null if the contestant did not do this work. */
export function typical(work: Work, turns: Turns[string]): number | null {
  const values = turns.map(figures => figures && work.value(figures)).filter(value => value != null);
  return values.length === 0 ? null : median(values);
}
