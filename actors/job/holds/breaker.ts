// The circuit breaker of a plugin instance. It counts in memory how the last attempts ended. If too many failed, the plugin is paused
// (pausing.ts).
//
//   closed      the breaker counts attempts; too many failures open the breaker
//   open        a pause by `breaker` holds the plugin's jobs; when it expires, the breaker becomes half open
//   half open   the plugin, and each instance that builds on it, runs one trial job at a time, beside jobs that were sent before the
//               pause: if a trial job succeeds, the breaker closes; if it fails, the breaker opens again
import type { PluginInstance } from '../../../config/config.ts';

export type BreakerLimits = NonNullable<PluginInstance['breaker']>;

export class Breaker {
  readonly limits: BreakerLimits;
  /** How the last attempts ended, oldest first. 1: the attempt failed; 0: it did not. */
  #ended: number[] = [];
  #failed = 0;

  constructor(limits: BreakerLimits) {
    this.limits = limits;
  }

  /** Records the end of an attempt. True: too many of the last attempts have failed. The counts are then reset. */
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
