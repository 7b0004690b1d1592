// Clocks. The ledger gets its `Clock` as an argument, so that a simulation can control the time.

export interface Clock {
  /** The time in µs since the Unix epoch. It never goes back. */
  nowUs(): number;
}

export interface SystemClock extends Clock {
  /** Converts a steady time (`steadyUs`) to wall time; both are in µs. */
  wallUs(steadyUs: number): number;
}

/** The longest delay that Node accepts for a timer. */
export const timerMsMax = 2 ** 31 - 1;

// The time of `process.hrtime`, in ms, when this thread's `performance.now` was 0. `hrtime` has one origin for all processes of a
// machine. `performance.now` has an origin of its own in each thread, but is faster to read.
const zeroMs = measureZeroMs();

/**
 * Measures the difference between `process.hrtime` and `performance.now` 32 times. Returns the result of the fastest measurement, which is
 * the most exact.
 */
function measureZeroMs(): number {
  let zero = 0;
  let closestMs = Number.POSITIVE_INFINITY;
  for (let measurement = 0; measurement < 32; measurement++) {
    const before = performance.now();
    const steadyMs = Number(process.hrtime.bigint()) / 1e6;
    const after = performance.now();
    if (after - before >= closestMs) continue;
    closestMs = after - before;
    zero = steadyMs - (before + after) / 2;
  }
  return zero;
}

/**
 * Converts a time of this thread's `performance.now` to steady time: µs since an origin that all processes of the machine share.
 */
export function steadyUs(performanceMs: number = performance.now()): number {
  return (zeroMs + performanceMs) * 1000;
}

const driftUsMax = 5_000;

/**
 * A wall clock with the resolution of the steady clock. If it is behind the system's wall clock by more than `driftUsMax`, it jumps
 * forward. It may also be ahead by more than `driftUsMax`, for example after the system's clock was set back. It then slows down, to no
 * less than half speed, until it is ahead by at most `driftUsMax`. If the clock stood still instead, a timed wait would take longer by the
 * whole difference. It begins with `fromUs` if the system's clock is behind that.
 */
export function systemClock(fromUs = 0): SystemClock {
  let last = fromUs;
  let lastSteadyUs = steadyUs();
  let originUs = Math.max(fromUs, performance.timeOrigin * 1000 + performance.now() * 1000) - lastSteadyUs;
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

/** The earlier of two times; null stands for never. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
