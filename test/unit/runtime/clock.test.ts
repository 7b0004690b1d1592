// The clock of the service while the one of the system is set.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type SystemClock, systemClock } from '../../../runtime/clock.ts';

const secondMs = 1000;
const hourMs = 3_600_000;
let clock: SystemClock;
let startMs: number;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  clock = systemClock();
  startMs = nowMs();
});
afterEach(() => void vi.useRealTimers());

function nowMs(): number {
  return clock.nowUs() / 1000;
}

/** How far the clock has come since the start after `ms` of real time, in which it is read each second. */
function afterMs(ms: number): number {
  for (let passed = 0; passed < ms; passed += secondMs) {
    vi.advanceTimersByTime(secondMs);
    clock.nowUs();
  }
  return Math.round((nowMs() - startMs) / secondMs) * secondMs;
}

function setBy(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

it('follows the clock of the system when that is set forward', () => {
  setBy(hourMs);
  expect(afterMs(secondMs)).toBe(hourMs + secondMs);
});

it('goes on when it is set back, at half its speed until that has come up', () => {
  setBy(-hourMs);
  expect(afterMs(0)).toBe(0);
  expect(afterMs(hourMs)).toBe(hourMs / 2);
  expect(afterMs(2 * hourMs)).toBe(2 * hourMs);
});

it('begins with a given time if the system is behind it', () => {
  clock = systemClock((startMs + hourMs) * 1000);
  expect(afterMs(0)).toBe(hourMs);
  expect(afterMs(hourMs)).toBe(1.5 * hourMs);
  clock = systemClock((startMs - hourMs) * 1000);
  expect(afterMs(0)).toBe(hourMs);
});
