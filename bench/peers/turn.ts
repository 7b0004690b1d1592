// One peer's turn: all the work of the bench "peers", one kind after the other, on a fresh server.
import { setTimeout as pause } from 'node:timers/promises';
import { type Facts, nowMs, type Peer } from './peer.ts';

/** How much of each kind of work; `fanouts` are numbers of children, the small ones first. */
export type TurnPlan = {
  /** Before anything is measured: so many jobs, fan-outs of a tenth as many children, and what is done for `seconds` for as long. */
  readonly warmup: number;
  /** Submitted one at a time. */
  readonly one: number;
  /** For which jobs are submitted in flight, and runs are run at each number at once. */
  readonly seconds: number;
  readonly inFlight: number;
  /** Submitted in bulk, and then drained. */
  readonly jobs: number;
  readonly samples: number;
  readonly pauseMs: number;
  readonly runs: number;
  readonly runsAtOnce: readonly number[];
  readonly fanouts: readonly number[];
  /** A fan-out that takes longer is broken off, and larger ones are not tried. */
  readonly fanoutMsMax: number;
};

/** Rates by second, times in µs; `runRates` and `fanoutUs` in the order of the plan. */
export type TurnFigures = {
  readonly facts: Facts;
  readonly oneRate: number;
  readonly flightRate: number;
  /** null where there is no bulk call. */
  readonly bulkRate: number | null;
  readonly drainRate: number;
  /** Jobs that were drained. */
  readonly drained: number;
  readonly startUs: readonly number[];
  readonly runUs: readonly number[];
  readonly runRates: readonly number[];
  /** null where it was not done. */
  readonly fanoutUs: readonly (number | null)[];
  /** Why a fan-out was not done. */
  readonly shortfall: string | null;
};

export async function takeTurn(peer: Peer, directory: string, plan: TurnPlan): Promise<TurnFigures> {
  let onRun: (n: number, atMs: number) => void = () => {};
  await peer.start(directory, (n, atMs) => onRun(n, atMs));
  const warmed = await warmUp(peer, plan);
  const oneRate = await rateOf(() => inFlight(1, untilCount(plan.one), n => peer.submit(n)));
  let submitted = 0;
  const flightRate = await rateOf(async () => {
    submitted = await inFlight(plan.inFlight, untilTime(plan.seconds), n => peer.submit(n));
    return submitted;
  });
  // What came in by time is as much as each could take: it is not what is drained in the end.
  const before = warmed + plan.one + submitted;
  await peer.work();
  await settle(peer, before);
  await peer.rest();
  await peer.tidy?.();
  const bulkRate = await rateOf(async () => {
    await peer.submitMany(plan.jobs);
    return plan.jobs;
  });
  const drainRate = await rateOf(async () => {
    await peer.work();
    await settle(peer, before + plan.jobs);
    return plan.jobs;
  });
  await peer.tidy?.();
  const startUs: number[] = [];
  for (let n = 0; n < plan.samples; n++) {
    await pause(plan.pauseMs);
    const started = new Promise<number>(resolve => {
      onRun = (_, atMs) => resolve(atMs);
    });
    const sentMs = nowMs();
    await Promise.all([started, peer.submit(n)]);
    startUs.push(((await started) - sentMs) * 1000);
  }
  const runUs: number[] = [];
  for (let n = 0; n < plan.runs; n++) runUs.push(await timeUs(() => peer.steps()));
  const runRates: number[] = [];
  for (const width of plan.runsAtOnce) runRates.push(await rateOf(() => runAtOnce(peer, width, plan.seconds)));
  const rates = { oneRate, flightRate, bulkRate: peer.hasBulk ? bulkRate : null, drainRate, runRates };
  return { facts: peer.facts, ...rates, drained: plan.jobs, startUs, runUs, ...(await fanOut(peer, plan)) };
}

/** Small ones are repeated, and the median counts. */
export function fanoutRuns(children: number): number {
  return children < 10_000 ? 5 : 3;
}

/** Of a tenth as many children as there are jobs to warm up. */
export const warmFanouts = 25;

/** Code that is compiled, files that are there: as in a service that has run for a while. Resolves to the jobs that were submitted. */
async function warmUp(peer: Peer, { warmup, seconds, inFlight: width, runsAtOnce }: TurnPlan): Promise<number> {
  await peer.submitMany(warmup);
  const jobs = warmup + (await inFlight(width, untilTime(seconds), n => peer.submit(n)));
  await peer.work();
  await settle(peer, jobs);
  for (const atOnce of runsAtOnce) await runAtOnce(peer, atOnce, seconds);
  for (let n = 0; n < warmFanouts; n++) await peer.fanout(warmup / 10);
  await peer.rest();
  await peer.tidy?.();
  return jobs;
}

/** Resolves to how many runs there were. */
function runAtOnce(peer: Peer, width: number, seconds: number): Promise<number> {
  peer.expectRuns?.(width);
  return inFlight(width, untilTime(seconds), () => peer.steps());
}

async function fanOut(peer: Peer, { fanouts, fanoutMsMax }: TurnPlan) {
  const fanoutUs: (number | null)[] = fanouts.map(() => null);
  try {
    for (const [k, children] of fanouts.entries()) {
      const times: number[] = [];
      for (let n = 0; n < fanoutRuns(children); n++) {
        const late = pause(fanoutMsMax, undefined, { ref: false }).then(() => {
          throw new Error(`a fan-out of ${children} is not done within ${fanoutMsMax} ms`);
        });
        times.push(await timeUs(() => Promise.race([peer.fanout(children), late])));
      }
      fanoutUs[k] = times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;
    }
  } catch (error) {
    return { fanoutUs, shortfall: (error as Error).message };
  }
  return { fanoutUs, shortfall: null };
}

async function settle(peer: Peer, jobs: number): Promise<void> {
  while ((await peer.settled()) < jobs) await pause(2);
}

async function timeUs(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return (performance.now() - startMs) * 1000;
}

/** By second, of as many as the work says it has done. */
async function rateOf(work: () => Promise<number>): Promise<number> {
  const startMs = performance.now();
  const count = await work();
  return (count * 1000) / (performance.now() - startMs);
}

function untilCount(count: number): (next: number) => boolean {
  return next => next < count;
}

function untilTime(seconds: number): () => boolean {
  const endMs = performance.now() + seconds * 1000;
  return () => performance.now() < endMs;
}

/** Calls on and on, always so many of them waiting for their answer. Resolves to how many there were. */
async function inFlight(
  width: number,
  goesOn: (next: number) => boolean,
  call: (n: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const callOn = async () => {
    while (goesOn(next)) await call(next++);
  };
  await Promise.all(Array.from({ length: width }, callOn));
  return next;
}
