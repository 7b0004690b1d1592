// How late the event loop of a thread is, as another thread reads it.
import { afterEach, expect, test, vi } from 'vitest';
import { LoopDelay } from '../../../runtime/loop-delay.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('a delay grows while the thread is stuck, stays until the next measurement, and is gone after one in time', () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  let nowNs = 5_000_000_000n;
  vi.spyOn(process.hrtime, 'bigint').mockImplementation(() => nowNs);
  const pass = (ms: number): void => {
    nowNs += BigInt(ms) * 1_000_000n;
  };
  const measured = new LoopDelay();
  const seen = new LoopDelay(measured.shared);
  expect(seen.ms).toBeNull();
  measured.measure();
  expect(seen.ms).toBe(0);
  pass(1_250);
  expect(seen.ms).toBe(250);
  pass(250);
  expect(seen.ms).toBe(500);
  vi.advanceTimersByTime(1_000);
  pass(999);
  expect(seen.ms).toBe(500);
  pass(1);
  vi.advanceTimersByTime(1_000);
  expect(seen.ms).toBe(0);
});
