// The patterns under which renewed certificates are entered in the server-name table of uWebSockets.js.
//
// The certificate of a name cannot be replaced, because the name would have to be removed first. Removal frees routes that open connections
// of that name still use. So each renewal adds a pattern for the name. The new pattern takes precedence over the patterns of
// earlier renewals: the table prefers a label to `*`, and compares the first label first.

/** The maximum number of labels in a name that the table can look up. */
const labelsMax = 10;

/**
 * The pattern of a name for a renewal. Renewals are numbered from 1. Null if all patterns of the name are used, or if the name has too many
 * labels. The patterns of `a.b` are, in this order, `*.*`, `*.b`, `a.*` and `a.b`. A label `*` of the name stays `*`.
 */
export function patternOf(name: string, renewal: number): string | null {
  const labels = name.split('.');
  const written = labels.filter(label => label !== '*').length;
  if (labels.length > labelsMax || renewal > 2 ** written) return null;
  const bits = renewal - 1;
  return labels.map((label, index) => ((bits >> (labels.length - 1 - index)) & 1 ? label : '*')).join('.');
}

/** The patterns of all these names for a renewal, without duplicates, and the names for which `patternOf` returns none. */
export function patternsOf(names: readonly string[], renewal: number) {
  const patterns = new Set<string>();
  const behind: string[] = [];
  for (const name of names) {
    const pattern = patternOf(name, renewal);
    if (pattern === null) behind.push(name);
    else patterns.add(pattern);
  }
  return { patterns: [...patterns], behind };
}
