// A gateway whose clock a test sets.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Settings } from './configuration.ts';
import { Gateway } from './gateway.ts';

const preload = fileURLToPath(new URL('../proofs/clock.cjs', import.meta.url));

export class Clock {
  readonly #file: string;

  constructor(gateway: Gateway) {
    this.#file = join(gateway.directory, 'clock');
  }

  /** Sets the clock of the service. */
  set(time: string): void {
    writeFileSync(`${this.#file}.new`, String(Date.parse(time) - Date.now()));
    renameSync(`${this.#file}.new`, this.#file);
  }

  get environment() {
    return { NODE_OPTIONS: `--require ${preload}`, CLOCK_PATH: this.#file };
  }
}

/** Starts a gateway whose clock shows this time. It lives as long as the test. */
export async function startClocked(time: string, settings: Settings) {
  const gateway = new Gateway(settings);
  onTestFinished(() => gateway.discard());
  const clock = new Clock(gateway);
  clock.set(time);
  gateway.launch({ environment: clock.environment });
  await gateway.start();
  return { gateway, clock };
}
