// Time as a value that is handed in, so that a simulator can hand in another.

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

// The high-resolution time has the same zero in every process of a machine; `performance.now` is cheaper to read.
const zeroMs = measureZeroMs();

/** How far apart the two are, by the closest of several looks: the first ones are slow. */
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

/** The steady clock, which all processes of this machine share, at a moment of this thread's `performance.now`; in µs. */
export function steadyUs(performanceMs: number = performance.now()): number {
  return (zeroMs + performanceMs) * 1000;
}

const driftUsMax = 5_000;

/**
 * The wall clock, with the fine steps of the steady one, set right when the two drift apart. Where the wall clock was set
 * back, it goes on at half its speed until the other has come up: if it stood still, whatever waits for a time would wait as long.
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
