// "Did you mean": the known name nearest to a mistyped one.
import { distance } from 'fastest-levenshtein';

/** The nearest of the known names, when it is near enough to be meant. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const far = distance(name.toLowerCase(), candidate.toLowerCase());
    if (far < least) {
      least = far;
      best = candidate;
    }
  }
  return best;
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(name: string, known: readonly string[]): string {
  const found = nearest(name, known);
  return found === undefined ? '' : `; did you mean ${JSON.stringify(found)}?`;
}
