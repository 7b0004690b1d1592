// Bench: reads of the groups of failed jobs, and of the jobs of one group, with many failed jobs stored.
import { atMost, type Bench, type Metric } from './bench.ts';
import type { Caller } from './caller.ts';
import { until } from './pause.ts';
import { Samples } from './percentile.ts';
import type { Stage } from './stage.ts';

type Failures = {
  readonly jobs: number;
  /** The number of jobs in one call. */
  readonly payloads: number;
  readonly groups: number;
  readonly reads: number;
};
type Page = {
  readonly failures: readonly { readonly fingerprint: string; readonly count: number }[];
  readonly total: number;
  readonly next_cursor?: string;
};

const withinMs = 600_000;

export const failures: Bench<Failures> = {
  name: 'failures',
  purpose: 'groups of 1,000,000 failed jobs, and the jobs of one group',
  limitMs: { smoke: 60_000, real: 1_200_000 },
  parameters: {
    smoke: { jobs: 2_000, payloads: 500, groups: 20, reads: 5 },
    real: { jobs: 1_000_000, payloads: 10_000, groups: 1_000, reads: 100 },
  },

  async run({ jobs, payloads, groups, reads }: Failures, stage: Stage) {
    const service = await stage.start();
    const caller = service.caller();
    for (let first = 0; first < jobs; first += payloads) {
      const batch = Array.from({ length: payloads }, (_, k) => ({ word: wordOf((first + k) % groups), n: first + k }));
      await caller.sendBatch('/plugin/failing/run/batch', JSON.stringify({ payloads: batch }), payloads);
    }
    const whenTrue = (what: string, isSo: () => Promise<boolean>) =>
      until(async () => ((await isSo()) ? true : undefined), { everyMs: 100, withinMs, what });
    await whenTrue('the end of all jobs', async () => (await caller.total('/jobs?status=failed&limit=1')) === jobs);
    const endedMs = performance.now();
    await whenTrue('counts of all jobs', async () => (await countIn(caller)) === jobs);
    const indexedMs = performance.now();
    const first = await caller.read<Page>('/failures');
    const ofGroup = `/jobs?fingerprint=${first.failures[0]!.fingerprint}`;
    const pages = await timed(caller, '/failures', groups, reads);
    const lists = await timed(caller, ofGroup, jobs / groups, reads);
    await service.stop();
    const ms = (name: string, samples: Samples, percent: number): Metric => {
      return { name: `${name}_p${percent}_ms`, value: samples.percentile(percent) / 1000, unit: 'ms' };
    };
    return {
      metrics: [
        { name: 'index_behind_ms', value: indexedMs - endedMs, unit: 'ms' },
        ms('failures', pages, 50),
        { ...ms('failures', pages, 99), target: atMost(100) },
        ms('jobs', lists, 50),
        ms('jobs', lists, 99),
      ],
      work: { jobs, groups: first.total },
    };
  },
};

/** A word for the number, made only of letters. Different numbers get different words. */
function wordOf(group: number): string {
  return [...group.toString(26)].map(digit => String.fromCharCode(97 + Number.parseInt(digit, 26))).join('');
}

/** The number of jobs in all groups. */
async function countIn(caller: Caller): Promise<number> {
  let count = 0;
  for (let cursor = ''; ; ) {
    const page = await caller.read<Page>(`/failures?limit=200${cursor}`);
    for (const group of page.failures) count += group.count;
    if (page.next_cursor === undefined) return count;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

/** How long the reads take, made one at a time. Throws if a read finds another total than `total`. */
async function timed(caller: Caller, path: string, total: number, reads: number): Promise<Samples> {
  const timesUs = new Samples();
  for (let n = 0; n < reads; n++) {
    const startMs = performance.now();
    const found = await caller.total(path);
    timesUs.add((performance.now() - startMs) * 1000);
    if (found !== total) throw new Error(`${path} found ${found}, not ${total}`);
  }
  return timesUs;
}
