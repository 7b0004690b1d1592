// The mixed load of the soak: single jobs that do nothing, jobs that wait, and runs with a fan-out.
import type { Caller } from '../caller.ts';
import { pause } from '../pause.ts';

export const pipeline = {
  name: 'soak',
  on: 'bench.soak',
  steps: [
    { id: 'make', uses: 'fan.make' },
    { id: 'work', uses: 'fan.work', foreach: 'payload.items' },
    { id: 'sum', uses: 'fan.sum', join: 'all' },
  ],
};

const children = 20;
/** Of a hundred calls; the run itself is a job too, and so are the first and the last of its steps. */
const mix = [
  { share: 80, path: '/plugin/noop/run', payload: { n: 1 }, jobs: 1 },
  { share: 15, path: '/plugin/wait/run', payload: {}, jobs: 1 },
  { share: 5, path: '/pipeline/soak?async=true', payload: { count: children }, jobs: children + 3 },
] as const;
/** By turns, so that each second has the same. */
const order = Array.from({ length: 100 }, (_, n) => {
  const place = (n * 37) % 100;
  return mix.find((_, kind) => place < mix.slice(0, kind + 1).reduce((sum, { share }) => sum + share, 0))!;
});

const tickMs = 5;
/** Calls under way, past which the service holds them up. */
const callsMax = 256;

export class Mix {
  /** Of the calls that were accepted: how many jobs they make. */
  jobs = 0;
  calls = 0;
  readonly #caller: Caller;
  #underWay = 0;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** So many calls at once, one after the other; calls a second. */
  async closed(atOnce: number, seconds: number): Promise<number> {
    const before = this.calls;
    const endMs = performance.now() + seconds * 1000;
    const one = async (): Promise<void> => {
      while (performance.now() < endMs) await this.#call();
    };
    await Promise.all(Array.from({ length: atOnce }, one));
    return (this.calls - before) / seconds;
  }

  /** So many calls a second, until it is enough. Throws where one is not accepted. */
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
