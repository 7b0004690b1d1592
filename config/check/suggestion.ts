// "Did you mean", or else what there is.
import { nearest } from '../pipeline/suggestion.ts';

/** The known word that is meant, if one is near: also when only the order of its letters is wrong. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const letters = (text: string): string => [...text.toLowerCase()].sort().join('');
  return nearest(word, known) ?? known.find(candidate => letters(candidate) === letters(word));
}

/** `did you mean "echo"?`, or else what there is: `known plugins: a, b`. */
export function hint(word: string, known: readonly string[], what: string): string {
  const found = closest(word, known);
  if (found !== undefined) return `did you mean ${JSON.stringify(found)}?`;
  if (known.length === 0) return `there are no ${what}`;
  const listed = known.slice(0, 20).join(', ');
  return `known ${what}: ${listed}${known.length > 20 ? `, and ${known.length - 20} more` : ''}`;
}
