// Bench: five times the capacity of a plugin is offered. Measures how many jobs end meanwhile, how many are refused,
// and the recovery.
import { atLeast, atMost, type Bench } from './bench.ts';
import type { Caller } from './caller.ts';
import { momentUs } from './moment.ts';
import { type Offered, offer } from './offered.ts';
import { percentile } from './percentile.ts';
import type { Service } from './service.ts';
import { ended } from './singles.ts';
import type { Setting, Stage } from './stage.ts';

type Overload = {
  /** The number of jobs that run at once; each waits 10 ms. */
  readonly parallelism: number;
  /** The offered load as a multiple of the capacity. */
  readonly times: number;
  readonly seconds: number;
  readonly halfSeconds: number;
  /** How long the service may recover after the load has fallen to half of the capacity. */
  readonly settleSeconds: number;
};

const path = '/plugin/wait/run';
const waitS = 0.01;
const endedPath = '/jobs?plugin=wait&status=succeeded&limit=1';

export const overload: Bench<Overload> = {
  name: 'overload',
  purpose: 'five times the capacity of a waiting plugin is offered: goodput, refusals, memory, and the recovery',
  limitMs: { smoke: 60_000, real: 400_000 },
  parameters: {
    smoke: { parallelism: 2, times: 5, seconds: 1, halfSeconds: 1, settleSeconds: 1 },
    real: { parallelism: 8, times: 5, seconds: 60, halfSeconds: 20, settleSeconds: 5 },
  },

  async run({ parallelism, times, seconds, halfSeconds, settleSeconds }: Overload, stage: Stage) {
    const settingWith = (queueDepthMax: number): Setting => ({
      threads: parallelism,
      instances: { wait: { parallelism } },
      service: { max_queue_depth: queueDepthMax },
    });
    const first = await stage.start(settingWith(Math.round(parallelism / waitS)));
    const capacity = goodput(await saturated(first, parallelism / waitS, Math.max(1, seconds / 6)));
    await first.stop();
    stage.clear();

    // The queue holds one second of work.
    const setting = settingWith(Math.round(capacity));
    const full = await stage.start(setting);
    const atCapacity = await work(full, capacity, seconds);
    await full.stop();
    stage.clear();

    const service = await stage.start(setting);
    const caller = service.caller();
    const half = { path, payload: {}, perSecond: capacity / 2 };
    const before = await times99(caller, await offer(service, { ...half, seconds: halfSeconds }));
    const over = await work(service, times * capacity, seconds);
    const refusal = await refusalOf(service, times * capacity);
    await offer(service, { ...half, seconds: settleSeconds });
    const after = await times99(caller, await offer(service, { ...half, seconds: halfSeconds }));
    await service.stop();

    const share = goodput(over) / goodput(atCapacity);
    return {
      metrics: [
        { name: 'capacity_per_s', value: capacity, unit: '1/s' },
        { name: 'goodput_at_capacity_per_s', value: goodput(atCapacity), unit: '1/s' },
        { name: 'goodput_overloaded_per_s', value: goodput(over), unit: '1/s' },
        { name: 'goodput_share', value: share, unit: '', target: atLeast(0.9) },
        { name: 'refused', value: over.refused, unit: '' },
        { name: 'unsent', value: over.unsent, unit: '' },
        { name: 'memory_at_capacity_mb', value: atCapacity.memoryMb, unit: 'MB' },
        { name: 'memory_overloaded_mb', value: over.memoryMb, unit: 'MB' },
        { name: 'memory_share', value: over.memoryMb / atCapacity.memoryMb, unit: '', target: atMost(1.5) },
        { name: 'half_load_p99_ms', value: before, unit: 'ms' },
        { name: 'half_load_after_p99_ms', value: after, unit: 'ms' },
        { name: 'half_load_p99_share', value: after / before, unit: '', target: atMost(2) },
      ],
      work: { refusal },
    };
  },
};

type Worked = Offered & { readonly ended: number };

/** Offers load, and counts the jobs that end meanwhile. */
async function work(service: Service, perSecond: number, seconds: number): Promise<Worked> {
  const caller = service.caller();
  const before = await caller.total(endedPath);
  const offered = await offer(service, { path, payload: {}, perSecond, seconds });
  return { ...offered, ended: (await caller.total(endedPath)) - before };
}

/** Offers 1.3 times this load, so that jobs are always waiting, and counts the jobs that end. A warm-up comes first. */
async function saturated(service: Service, perSecond: number, seconds: number): Promise<Worked> {
  await offer(service, { path, payload: {}, perSecond: 1.3 * perSecond, seconds });
  return work(service, 1.3 * perSecond, seconds);
}

function goodput({ ended, seconds }: Worked): number {
  return ended / seconds;
}

/** The p99 of the newest jobs' times from creation to completion, in ms. */
async function times99(caller: Caller, { newestIds }: Offered): Promise<number> {
  const times: number[] = [];
  for (const id of newestIds) {
    const job = await ended(caller, id, 5);
    times.push((momentUs(job.completed_at) - momentUs(job.created_at)) / 1000);
  }
  return percentile(times, 99);
}

/** Offers load until a call is refused. Resolves with the code of the refusal, and whether it says when to retry. */
async function refusalOf(service: Service, perSecond: number): Promise<unknown> {
  const load = offer(service, { path, payload: {}, perSecond, seconds: 0.5 });
  const headers = { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' };
  const answers: Response[] = [];
  while (answers.at(-1)?.status !== 503) {
    answers.push(await fetch(new URL(path, service.url), { method: 'POST', headers, body: '{"payload":{}}' }));
    if (answers.length > 10_000) throw new Error('no call was refused');
  }
  await load;
  const refused = answers.at(-1)!;
  const { code } = (await refused.json()) as { readonly code: string };
  return { code, retries: Number(refused.headers.get('Retry-After')) > 0 };
}
