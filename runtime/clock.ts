// Time as a dependency that callers pass in, so that a simulator can control it.

export interface Clock {
  /** µs since the epoch; never goes back. */
  nowUs(): number;
}

export interface SystemClock extends Clock {
  /** The wall time of a moment on the steady clock. */
  wallUs(steadyUs: number): number;
}

/** The longest time that a timer can be set to. */
export const timerMsMax = 2 ** 31 - 1;

// The high-resolution time has the same origin in all processes of a machine; `performance.now` is faster to read.
const zeroMs = measureZeroMs();

/** The difference between the two clocks: the smallest of several measurements, since the first ones are slow. */
function measureZeroMs(): number {
  let zero = 0;
  let closestMs = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 32; look++) {
    const before = performance.now();
    const steadyMs = Number(process.hrtime.bigint()) / 1e6;
    const after = performance.now();
    if (after - before >= closestMs) continue;
    closestMs = after - before;
    zero = steadyMs - (before + after) / 2;
  }
  return zero;
}

/** Steady time in µs, with the same origin in all processes of this machine, for a time of this thread's `performance.now`. */
export function steadyUs(performanceMs: number = performance.now()): number {
  return (zeroMs + performanceMs) * 1000;
}

const driftUsMax = 5_000;

/**
 * The wall clock with the resolution of the steady clock, adjusted when the two drift apart. If the wall clock is set back, this clock
 * runs at half its speed until the wall clock has caught up. If it stood still instead, every timed wait would become longer by that
 * time.
 */
export function systemClock(): SystemClock {
  let last = 0;
  let lastSteadyUs = steadyUs();
  let originUs = performance.timeOrigin * 1000 + performance.now() * 1000 - lastSteadyUs;
  return {
    nowUs() {
      const steady = steadyUs();
      const aheadUs = originUs + steady - Date.now() * 1000;
      if (aheadUs < -driftUsMax) originUs -= aheadUs;
      else if (aheadUs > driftUsMax) originUs -= Math.min(aheadUs, (steady - lastSteadyUs) / 2);
      lastSteadyUs = steady;
      last = Math.max(last, Math.round(originUs + steady));
      return last;
    },
    wallUs: steady => Math.round(originUs + steady),
  };
}
