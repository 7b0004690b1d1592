// Bench: how late schedules fire in an idle service, and how long ten thousand schedules take to fire if they are due
// in the same second.
import { atMost, type Bench } from './bench.ts';
import type { Caller } from './caller.ts';
import { pause, until } from './pause.ts';
import { percentile } from './percentile.ts';
import type { Stage } from './stage.ts';

type Schedules = {
  /** The number of schedules that fire each second in an idle service. */
  readonly idle: number;
  readonly seconds: number;
  /** The number of schedules that are due in the same second. */
  readonly together: number;
};

type Firing = { readonly late_ms?: number | null; readonly due_at: string };
type Page = { readonly schedules: readonly { readonly history?: readonly Firing[] }[]; readonly next_cursor?: string };

const target = { plugin: 'noop', command: 'run', if_running: 'allow' };
/** The maximum number of firings that GET /schedules shows for a schedule. */
const firingsMax = 20;
const pageSize = 200;

export const schedules: Bench<Schedules> = {
  name: 'schedules',
  purpose: 'schedules: how late they fire when the service is idle, and when many are due in the same second',
  limitMs: { smoke: 60_000, real: 120_000 },
  parameters: {
    smoke: { idle: 2, seconds: 2, together: 200 },
    real: { idle: 10, seconds: firingsMax, together: 10_000 },
  },

  async run({ idle, seconds, together }: Schedules, stage: Stage) {
    const late = await lateness(stage, idle, seconds);
    stage.clear();
    const burst = await fireTogether(stage, together);
    return {
      metrics: [
        { name: 'lateness_p50_ms', value: percentile(late, 50), unit: 'ms' },
        { name: 'lateness_p99_ms', value: percentile(late, 99), unit: 'ms', target: atMost(50) },
        { name: 'together_ms', value: burst, unit: 'ms', target: atMost(1_000) },
      ],
      work: { firings: late.length, together },
    };
  },
};

/** How late each firing was, in ms, in ascending order. */
async function lateness(stage: Stage, idle: number, seconds: number): Promise<number[]> {
  const all = Array.from({ length: idle }, (_, n) => ({ id: `idle-${n}`, ...target, every: '1s' }));
  const service = await stage.start({ schedules: all });
  await pause((seconds + 1) * 1_000);
  const late = (await firingsOf(service.caller())).flatMap(({ late_ms }) => late_ms ?? []);
  await service.stop();
  const fired = late.slice(0, idle * seconds).sort((a, b) => a - b);
  if (fired.length < idle * seconds) throw new Error(`${fired.length} firings in ${seconds} s of ${idle} schedules`);
  return fired;
}

/**
 * The time in ms from when all schedules are due until the last has fired. Until then, only the number of jobs is read,
 * so that reads of the schedules do not delay the firings.
 */
async function fireTogether(stage: Stage, count: number): Promise<number> {
  const cron = '*/20 * * * * *';
  const all = Array.from({ length: count }, (_, n) => ({ id: `together-${n}`, ...target, cron }));
  const service = await stage.start({ schedules: all });
  const caller = service.caller();
  const jobs = async () => (await caller.read<{ readonly total: number }>('/jobs?limit=1')).total;
  await until(async () => (await jobs()) >= count || undefined, {
    everyMs: 250,
    withinMs: 60_000,
    what: 'firings of all schedules',
  });
  const fired = await firingsOf(caller);
  await service.stop();
  const [first] = fired.map(({ due_at }) => due_at).sort();
  return Math.max(...fired.filter(({ due_at }) => due_at === first).map(({ late_ms }) => late_ms!));
}

async function firingsOf(caller: Caller): Promise<readonly Firing[]> {
  const firings: Firing[] = [];
  let cursor = '';
  do {
    const page = await caller.read<Page>(`/schedules?limit=${pageSize}${cursor}`);
    for (const { history = [] } of page.schedules) firings.push(...history);
    cursor = page.next_cursor === undefined ? '' : `&cursor=${page.next_cursor}`;
  } while (cursor !== '');
  return firings;
}
