// The three steps of a fan-out: items are made, each goes through a job of its own, and one job adds them up.

export function make({ payload }) {
  return { result: { items: Array.from({ length: payload.count }, (_, n) => n) } };
}

export function work({ payload }) {
  return { result: { n: payload.item } };
}

/** Throws unless result k is the result of item k. */
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

/** An entry is the result itself, or holds it. */
function numberOf(entry) {
  return entry.n ?? entry.result?.n;
}
