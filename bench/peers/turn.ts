// One peer's turn: all the work of the bench "peers", one kind after the other, on a fresh server.
import { setTimeout as pause } from 'node:timers/promises';
import type { Facts, Peer } from './peer.ts';

/** How much of each kind of work; `fanouts` are numbers of children. */
export type TurnPlan = {
  /** Before anything is measured: so many jobs, a fiftieth as many runs, and fan-outs of as many children together. */
  readonly warmup: number;
  readonly one: number;
  readonly flight: number;
  readonly bulk: number;
  readonly inFlight: number;
  readonly samples: number;
  readonly pauseMs: number;
  readonly runs: number;
  readonly runsAtOnce: number;
  readonly fanouts: readonly number[];
};

/** Rates by second, times in µs; `fanouts` in the order of the plan. */
export type TurnFigures = {
  readonly facts: Facts;
  readonly oneRate: number;
  readonly flightRate: number;
  /** null where there is no bulk call. */
  readonly bulkRate: number | null;
  readonly drainRate: number;
  readonly startUs: readonly number[];
  readonly runUs: readonly number[];
  readonly runRate: number;
  readonly fanoutUs: readonly number[];
};

/** Small fan-outs are repeated; the median counts. */
const smallChildren = 10_000;
const smallRuns = 5;

export async function takeTurn(peer: Peer, directory: string, plan: TurnPlan): Promise<TurnFigures> {
  let onRun: (n: number) => void = () => {};
  await peer.start(directory, n => onRun(n));
  await warmUp(peer, plan.warmup);
  const oneRate = await rateOf(plan.one, () => inFlight(plan.one, 1, n => peer.submit(n)));
  const flightRate = await rateOf(plan.flight, () => inFlight(plan.flight, plan.inFlight, n => peer.submit(n)));
  const bulkRate = await rateOf(plan.bulk, () => peer.submitMany(plan.bulk));
  const queued = plan.one + plan.flight + plan.bulk;
  const drainRate = await rateOf(queued, async () => {
    await peer.work();
    await settle(peer, plan.warmup + queued);
  });
  const startUs: number[] = [];
  for (let n = 0; n < plan.samples; n++) {
    await pause(plan.pauseMs);
    const started = new Promise<number>(resolve => {
      onRun = () => resolve(performance.now());
    });
    const sentMs = performance.now();
    await Promise.all([started, peer.submit(n)]);
    startUs.push(((await started) - sentMs) * 1000);
  }
  const runUs: number[] = [];
  for (let n = 0; n < plan.runs; n++) runUs.push(await timeUs(() => peer.steps()));
  const runRate = await rateOf(plan.runs, () => inFlight(plan.runs, plan.runsAtOnce, () => peer.steps()));
  const fanoutUs: number[] = [];
  for (const children of plan.fanouts) {
    const times: number[] = [];
    const runs = children < smallChildren ? smallRuns : 1;
    for (let n = 0; n < runs; n++) times.push(await timeUs(() => peer.fanout(children)));
    fanoutUs.push(times.sort((a, b) => a - b)[Math.floor(runs / 2)]!);
  }
  return { facts: peer.facts, oneRate, flightRate, bulkRate, drainRate, startUs, runUs, runRate, fanoutUs };
}

/** Code that is compiled, files that are there: as in a service that has run for a while. */
async function warmUp(peer: Peer, jobs: number): Promise<void> {
  await peer.submitMany(jobs);
  await peer.work();
  await settle(peer, jobs);
  await inFlight(jobs / 50, 8, () => peer.steps());
  for (let n = 0; n < 5; n++) await peer.fanout(jobs / 5);
  await peer.rest();
}

async function settle(peer: Peer, jobs: number): Promise<void> {
  while ((await peer.settled()) < jobs) await pause(2);
}

async function timeUs(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return (performance.now() - startMs) * 1000;
}

async function rateOf(count: number, work: () => Promise<unknown>): Promise<number> {
  return (count * 1e6) / (await timeUs(work));
}

/** So many calls, always so many of them waiting for their answer. */
async function inFlight(count: number, width: number, call: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const callOn = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: width }, callOn));
}
