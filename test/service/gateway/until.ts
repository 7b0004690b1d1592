// Waits for something to become true, by asking again and again.
import { setTimeout as pause } from 'node:timers/promises';

const firstPauseMs = 1;
const pauseMsMax = 20;
/** The pause between checks after the first second: each check of a service costs both sides a millisecond of CPU. */
const longPauseMsMax = 50;
const longWaitMs = 1_000;

/** Asks again and again, first quickly, until the answer is truthy. Fails after `limitMs`, saying what was waited for. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  limitMs = 60_000,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const startMs = performance.now();
  const endMs = startMs + limitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs *= 1.5) {
    const answer = await condition();
    if (answer) return answer as never;
    const nowMs = performance.now();
    if (nowMs > endMs) throw new Error(`waited ${limitMs} ms in vain: ${what}`);
    pauseMs = Math.min(pauseMs, nowMs - startMs > longWaitMs ? longPauseMsMax : pauseMsMax);
    await pause(pauseMs);
  }
}
