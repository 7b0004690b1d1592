// The breaker of a plugin instance: it counts how the last attempts ended, in memory, and says when too many of them failed.
//
//   closed      counts; so many failures among the last attempts pause the plugin, by `breaker`
//   open        the pause holds its jobs, until its time is over
//   half open   one job at a time is let out: one that succeeds closes it, one that fails opens it again
import type { PluginInstance } from '../../config/config.ts';

export type BreakerLimits = NonNullable<PluginInstance['breaker']>;

/** The `by` of its pauses. */
export const breakerName = 'breaker';

export class Breaker {
  readonly limits: BreakerLimits;
  /** Of the last attempts, oldest first: 1 where it failed. */
  #ended: number[] = [];
  #failed = 0;

  constructor(limits: BreakerLimits) {
    this.limits = limits;
  }

  /** An attempt has ended. True: too many have failed, and counting starts again. */
  isTripped(hasFailed: boolean): boolean {
    const { failures, of } = this.limits;
    this.#ended.push(hasFailed ? 1 : 0);
    if (hasFailed) this.#failed++;
    if (this.#ended.length > of) this.#failed -= this.#ended.shift()!;
    if (this.#failed < failures) return false;
    this.reset();
    return true;
  }

  reset(): void {
    this.#ended = [];
    this.#failed = 0;
  }
}
