// Commands that only show that they ran.

/** Returns the number of the payload. */
export function run({ payload }) {
  return { result: { n: payload.n } };
}

/** A step of a chain: returns the number unchanged, and the count of steps plus one. */
export function pass({ payload }) {
  return { result: { n: payload.n, passed: (payload.passed ?? 0) + 1 } };
}
