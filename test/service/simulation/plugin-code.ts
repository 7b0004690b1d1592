// What plugin code does in these worlds. It is a function of the seed, the payload, the number of the attempt, and how often the tree of the
// job was rerun.
import type { Verdict } from '../../../runtime/host/wire/plugin-host.ts';
import type { Json } from '../../../runtime/packing.ts';
import { masked } from '../../unit/actors/pipeline/naive.ts';
import { Dice } from './dice.ts';
import type { Faults } from './faults.ts';

export type Event = { readonly type: string; readonly payload: Json; readonly dedupe_key?: string };

/** The input of a job, which decides how the job ends if nothing interferes. */
export type Call = {
  readonly instance: string;
  readonly stepId: string | null;
  readonly payload: Json;
  readonly context: Json;
  /** How often the tree of the job was rerun: a rerun may succeed where the job could not. */
  readonly again: number;
};
export type Act = {
  readonly verdict: Verdict;
  readonly permanent: boolean;
  readonly result?: Json;
  readonly events?: readonly Event[];
  readonly error?: string;
  readonly state?: Json;
};

export class PluginCode {
  readonly #seed: number;
  readonly #faults: Faults;

  constructor(seed: number, faults: Faults) {
    this.#seed = seed;
    this.#faults = faults;
  }

  /** How this attempt ends. */
  act(call: Call, attempt: number): Act {
    const { dice, failures, isFatal, isTimeout } = this.#plan(call);
    if (attempt <= failures) {
      const verdict = isTimeout ? 'timed_out' : 'error';
      return { verdict, permanent: false, error: `not now: attempt ${attempt}` };
    }
    if (isFatal) return { verdict: 'error', permanent: true, error: 'never' };
    return { verdict: 'ok', permanent: false, ...this.#deed(call, dice) };
  }

  /** The outcome of the last attempt, if there are enough attempts; an error if no attempt can succeed. */
  end(call: Call): Act {
    return this.act(call, this.failuresOf(call) + 1);
  }

  /** How many attempts fail before one succeeds, or fails for good. */
  failuresOf(call: Call): number {
    return this.#plan(call).failures;
  }

  /** Whether this attempt ends its host. */
  kills({ instance, payload }: Call, attempt: number): boolean {
    const odds = this.#faults.isCalm ? 0 : this.#faults.oddsOf('taskKillsItsHost');
    return instance === 'killer' && new Dice(this.#seed, `${JSON.stringify(payload)} ${attempt} kills`).chance(odds);
  }

  #plan(call: Call): { dice: Dice; failures: number; isFatal: boolean; isTimeout: boolean } {
    const { instance, stepId, payload, context, again } = call;
    const dice = new Dice(this.#seed, JSON.stringify([instance, stepId, masked(payload), masked(context)]));
    const fails = dice.chance(this.#faults.oddsOf('taskFails'));
    const isFatal = dice.chance(this.#faults.oddsOf('taskFailsForGood')) && again === 0;
    const isTimeout = dice.chance(this.#faults.oddsOf('taskTimesOut'));
    const failures = fails || isTimeout ? 1 + dice.below(3) : 0;
    return { dice, failures, isFatal, isTimeout };
  }

  #deed({ instance, stepId, payload }: Call, dice: Dice): Pick<Act, 'result' | 'events' | 'state'> {
    const { n, left = 0, width = 1 } = payload as { n?: number; left?: number; width?: number };
    if (instance === 'echo') {
      const events = Array.from({ length: left > 0 ? width : 0 }, (_, copy) => {
        return { type: 'told', payload: { left: left - 1, width, copy } };
      });
      return { result: { left }, ...(events.length > 0 && { events }) };
    }
    if (instance === 'tally') return { result: n ?? null, state: { [`k${dice.below(5)}`]: n ?? -1, last: n ?? -1 } };
    const kind = dice.below(20);
    if (kind < 1) return { result: 'words' };
    if (kind < 2) return {};
    // Steps of pipelines that events and hooks start emit nothing themselves.
    if (kind > 14 && stepId !== 's0' && stepId !== 'm0' && stepId !== 't0') {
      const events = Array.from({ length: dice.below(4) }, () => {
        const key = dice.chance(0.2) && stepId === null ? { dedupe_key: `key${dice.below(5)}` } : {};
        return { type: 'e', payload: data(dice), ...key };
      });
      return { result: { s: stepId }, events };
    }
    return { result: { ...data(dice), s: stepId } };
  }
}

function data(dice: Dice): { readonly k: number; readonly list: number[] } {
  return { k: dice.below(10), list: Array.from({ length: dice.below(4) }, () => dice.below(10)) };
}
