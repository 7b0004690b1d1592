// The turn of a peer: each kind of work of the bench "peers", one after the other, on a fresh server.
import { setTimeout as pause } from 'node:timers/promises';
import { type Facts, nowMs, type Peer } from './peer.ts';

/** The amount of each kind of work. `fanouts` are numbers of children in ascending order. */
export type TurnPlan = {
  /**
   * The number of jobs that are submitted in bulk as a warm-up. The warm-up also has fan-outs with a tenth as many
   * children, and calls and runs for `seconds` each.
   */
  readonly warmup: number;
  /** The number of jobs that are submitted one at a time. */
  readonly one: number;
  /**
   * How long jobs are submitted with `inFlight` calls at once, and how long runs are made at each number in
   * `runsAtOnce`.
   */
  readonly seconds: number;
  readonly inFlight: number;
  /** The number of jobs that are submitted in bulk and then drained. */
  readonly jobs: number;
  readonly samples: number;
  readonly pauseMs: number;
  readonly runs: number;
  readonly runsAtOnce: readonly number[];
  readonly fanouts: readonly number[];
  /** A fan-out that takes longer is aborted, and larger fan-outs are skipped. */
  readonly fanoutMsMax: number;
};

/** Rates are per second, times in µs; `runRates` and `fanoutUs` have the order of the plan. */
export type TurnFigures = {
  readonly facts: Facts;
  readonly oneRate: number;
  readonly flightRate: number;
  /** Null: the peer has no call for many jobs. */
  readonly bulkRate: number | null;
  readonly drainRate: number;
  /** The number of drained jobs. */
  readonly drained: number;
  readonly startUs: readonly number[];
  readonly runUs: readonly number[];
  readonly runRates: readonly number[];
  /** The median time of each fan-out. Null: the fan-out was skipped or aborted. */
  readonly fanoutUs: readonly (number | null)[];
  /** Why a fan-out is missing; null: none is missing. */
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
  // The number of jobs submitted in flight depends on the peer. These jobs are settled first, so that they are not part
  // of the drained queue.
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

/** How often a fan-out is repeated; small ones are repeated more often. The median counts. */
export function fanoutRuns(children: number): number {
  return children < 10_000 ? 5 : 3;
}

/** The number of warm-up fan-outs. Each has a tenth as many children as there are warm-up jobs. */
export const warmFanouts = 25;

/** Brings the peer into the state of a service that has run for a while. Resolves with the number of submitted jobs. */
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

/** Keeps `width` runs of steps in flight. Resolves with the number of runs. */
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
          throw new Error(`a fan-out of ${children} did not finish within ${fanoutMsMax} ms`);
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

/** Measures how many things `work` does per second. `work` resolves with their number. */
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

/** Keeps `width` calls in flight while `goesOn` returns true. Resolves with the number of calls. */
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
