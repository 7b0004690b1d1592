// Waiting for something to become true: the one place where tests meet a timer.
import { setTimeout as pause } from 'node:timers/promises';

const firstPauseMs = 1;
const pauseMsMax = 20;

/** Asks again and again, first quickly, until the answer is truthy. Fails after `limitMs`, saying what was waited for. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  limitMs = 60_000,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const endMs = performance.now() + limitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMsMax, pauseMs * 1.5)) {
    const answer = await condition();
    if (answer) return answer as never;
    if (performance.now() > endMs) throw new Error(`waited ${limitMs} ms in vain: ${what}`);
    await pause(pauseMs);
  }
}
