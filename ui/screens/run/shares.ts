// Where the time of a run went: the time on its critical path, by step, and by kind, which is what the job on the path was doing.
import { type PathEntry, type RunTimeline, stepKey, stepTitle } from './timeline.ts';

export const pathKinds = ['running', 'waiting', 'handing_out', 'retrying', 'commit'] as const;
export type PathKind = (typeof pathKinds)[number];

export const kindNames: { readonly [K in PathKind]: string } = {
  running: 'Running',
  waiting: 'Waiting for a worker',
  handing_out: 'Handing out',
  retrying: 'Between attempts',
  commit: 'Last commit',
};

export const kindMeanings: { readonly [K in PathKind]: string } = {
  running: 'Plugin code ran.',
  waiting: 'From the acceptance of a job to the start of its first attempt: its commit, the queue, and pauses.',
  handing_out: 'From the end of a job to the acceptance of the next one.',
  retrying: 'A failed attempt waited for the next one.',
  commit: 'From the end of the last job to the end of the run.',
};

export type TimeShare = { readonly kind: PathKind; readonly us: number; readonly share: number };

/** The time of the run by kind, in the order of `pathKinds`, without kinds that took no time. */
export function sharesByKind({ critical_path: path, gaps, duration_us: duration }: RunTimeline): TimeShare[] {
  const us: { readonly [K in PathKind]: number } = {
    running: path.reduce((sum, { running_us }) => sum + running_us, 0),
    waiting: gaps.waiting_us,
    handing_out: gaps.handing_out_us,
    retrying: gaps.retrying_us,
    commit: gaps.commit_us,
  };
  return pathKinds
    .filter(kind => us[kind] > 0)
    .map(kind => ({ kind, us: us[kind], share: duration === 0 ? 0 : us[kind] / duration }));
}

export type StepShare = {
  readonly key: string;
  readonly title: string;
  readonly us: number;
  readonly share: number;
  /** The kind that took most of the step's time. */
  readonly kind: PathKind;
};

/** The time of the run by step, the longest first. */
export function sharesByStep({ critical_path: path, command, duration_us: duration }: RunTimeline): StepShare[] {
  const sums = new Map<
    string,
    { title: string; running: number; waiting: number; handing: number; retrying: number }
  >();
  for (const entry of path) {
    const key = stepKey(entry);
    const sum = sums.get(key) ?? { title: stepTitle(entry, command), running: 0, waiting: 0, handing: 0, retrying: 0 };
    sum.running += entry.running_us;
    sum.waiting += entry.waiting_us;
    sum.handing += entry.handing_out_us;
    sum.retrying += entry.retrying_us;
    sums.set(key, sum);
  }
  return [...sums]
    .map(([key, { title, running, waiting, handing, retrying }]) => {
      const us = running + waiting + handing + retrying;
      const byKind = [
        ['running', running],
        ['waiting', waiting],
        ['handing_out', handing],
        ['retrying', retrying],
      ] as const;
      const kind = byKind.reduce((most, next) => (next[1] > most[1] ? next : most))[0];
      return { key, title, us, share: duration === 0 ? 0 : us / duration, kind };
    })
    .sort((a, b) => b.us - a.us);
}

/** The stretches of one entry of the path, in the order in which they came. */
export function stretchesOf(entry: PathEntry): { readonly kind: PathKind; readonly us: number }[] {
  const stretches: { readonly kind: PathKind; readonly us: number }[] = [
    { kind: 'handing_out', us: entry.handing_out_us },
    { kind: 'waiting', us: entry.waiting_us },
    { kind: 'running', us: entry.running_us },
    { kind: 'retrying', us: entry.retrying_us },
  ];
  return stretches.filter(({ us }) => us > 0);
}
