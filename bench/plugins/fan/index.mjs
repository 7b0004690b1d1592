// The three steps of a fan-out: one makes items, one handles a single item, and one adds up the results.

export function make({ payload }) {
  return { result: { items: Array.from({ length: payload.count }, (_, n) => n) } };
}

export function work({ payload }) {
  return { result: { n: payload.item } };
}

/** Throws if result k is not the result of item k. */
export function sum({ payload }) {
  const { results, succeeded, failed } = payload;
  let total = 0;
  for (let k = 0; k < results.length; k++) {
    const n = numberOf(results[k]);
    if (n !== k) throw new Error(`entry ${k} of the join is ${JSON.stringify(results[k])}`);
    total += n;
  }
  return { result: { total, count: results.length, succeeded, failed } };
}

/** An entry is the result itself, or an object with the result. */
function numberOf(entry) {
  return entry.n ?? entry.result?.n;
}
