// Time as a value that is handed in, so that a simulator can hand in another.

export interface Clock {
  /** µs since the epoch; never goes back. */
  nowUs(): number;
}

const driftUsMax = 5_000;

/** The wall clock, with the fine steps of the monotonic one, set right when the two drift apart. */
export function systemClock(): Clock {
  let last = 0;
  let originUs = performance.timeOrigin * 1000;
  return {
    nowUs() {
      const wallUs = Date.now() * 1000;
      let now = Math.round(originUs + performance.now() * 1000);
      if (Math.abs(now - wallUs) > driftUsMax) {
        originUs += wallUs - now;
        now = wallUs;
      }
      last = Math.max(now, last);
      return last;
    },
  };
}
