// Under which patterns the certificates of renewals stand in the table of server names of uWebSockets.js.
//
// A name cannot be given another certificate there: it would have to be removed first, and removing it frees the routes that open
// connections of the name still use. So nothing is removed. Each renewal adds a pattern that comes before those of the renewals
// before it: the table looks for a label itself before `*`, and begins with the first label.

/** The table looks up names of at most so many labels. */
const labelsMax = 10;

/**
 * The pattern of the n-th renewal, from 1, for a name. Null: the name has no further pattern. A name of n labels has 2^n of them,
 * from `*.*` to `a.b`; in one that begins with `*`, this label is always the same.
 */
export function patternOf(name: string, renewal: number): string | null {
  const labels = name.split('.');
  const written = labels.filter(label => label !== '*').length;
  if (labels.length > labelsMax || renewal > 2 ** written) return null;
  const bits = renewal - 1;
  return labels.map((label, index) => ((bits >> (labels.length - 1 - index)) & 1 ? label : '*')).join('.');
}

/** The patterns of a renewal, each once, and the names without a further one. */
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
