// The mixed load of the soak: single no-op jobs, jobs that wait, and runs with a fan-out.
import type { Caller } from '../caller.ts';
import { fanSteps } from '../fan-run.ts';
import { pause } from '../pause.ts';

export const pipeline = { name: 'soak', on: 'bench.soak', steps: fanSteps() };

const children = 20;
/**
 * The kinds of calls. `share`: how many of a hundred calls are of this kind. `jobs`: how many jobs a call makes; for a
 * run, these are the run itself, its first and last step, and its children.
 */
const mix = [
  { share: 80, path: '/plugin/noop/run', payload: { n: 1 }, jobs: 1 },
  { share: 15, path: '/plugin/wait/run', payload: {}, jobs: 1 },
  { share: 5, path: '/pipeline/soak?async=true', payload: { count: children }, jobs: children + 3 },
] as const;
/** The order of a hundred calls. Kinds alternate, so that each second has the same mix. */
const order = Array.from({ length: 100 }, (_, n) => {
  const place = (n * 37) % 100;
  return mix.find((_, kind) => place < mix.slice(0, kind + 1).reduce((sum, { share }) => sum + share, 0))!;
});

const tickMs = 5;
/** The maximum number of calls in flight. A call that becomes due while this many are in flight is skipped. */
const callsMax = 256;

export class Mix {
  /** The number of jobs that the accepted calls make. */
  jobs = 0;
  calls = 0;
  readonly #caller: Caller;
  #underWay = 0;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Keeps `atOnce` calls in flight for a time. Resolves with the number of calls per second. */
  async closed(atOnce: number, seconds: number): Promise<number> {
    const before = this.calls;
    const endMs = performance.now() + seconds * 1000;
    const one = async (): Promise<void> => {
      while (performance.now() < endMs) await this.#call();
    };
    await Promise.all(Array.from({ length: atOnce }, one));
    return (this.calls - before) / seconds;
  }

  /** Makes `perSecond` calls per second until `isEnough` returns true. Throws if a call is not accepted. */
  async offered(perSecond: number, isEnough: () => boolean): Promise<void> {
    const startMs = performance.now();
    let failure: unknown = null;
    for (let due = 0; !isEnough() && failure === null; await pause(tickMs)) {
      for (; due < ((performance.now() - startMs) / 1000) * perSecond; due++) {
        if (this.#underWay < callsMax) this.#call().catch(error => (failure = error));
      }
    }
    while (this.#underWay > 0) await pause(tickMs);
    if (failure !== null) throw failure;
  }

  async #call(): Promise<void> {
    const { path, payload, jobs } = order[this.calls++ % order.length]!;
    this.#underWay++;
    try {
      await this.#caller.submit(path, payload);
      this.jobs += jobs;
    } finally {
      this.#underWay--;
    }
  }
}
