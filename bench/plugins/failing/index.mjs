// A command whose jobs fail.

/** Jobs with the same word are in one group of failures. */
export function run({ payload: { word, n } }) {
  return { status: 'error', error: `no answer from ${word} to request ${n} after 30s`, retry: false };
}
