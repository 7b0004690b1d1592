// Commands that do nothing but show that they ran.

/** The number of the payload, as it came. */
export function run({ payload }) {
  return { result: { n: payload.n } };
}

/** One step of a chain: the number as it came, and one more on the count of steps. */
export function pass({ payload }) {
  return { result: { n: payload.n, passed: (payload.passed ?? 0) + 1 } };
}
