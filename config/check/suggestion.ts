// Finds the known word nearest to a misspelt one, for "did you mean".
import { distance } from 'fastest-levenshtein';

/** For a longer word, no known word is found: the cost grows with its length, and names have at most this many characters. */
const charactersMax = 128;

/** The known word that is probably meant: one with a small edit distance, or with the same letters in another order. */
export function closest(word: string, known: readonly string[]): string | undefined {
  if (word.length > charactersMax) return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const far = distance(word.toLowerCase(), candidate.toLowerCase());
    if (far < least) [least, best] = [far, candidate];
  }
  if (best !== undefined) return best;
  const lettersOf = (text: string): string => [...text.toLowerCase()].sort().join('');
  const letters = lettersOf(word);
  return known.find(candidate => lettersOf(candidate) === letters);
}

/** The text `; did you mean "x"?`, or the empty text if no known word is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  const found = closest(word, known);
  return found === undefined ? '' : `; did you mean ${JSON.stringify(found)}?`;
}

/** The text `; did you mean "echo"?`, or else a list of known words: `; known plugins: a, b`. */
export function hint(word: string, known: readonly string[], what: string): string {
  const meant = didYouMean(word, known);
  if (meant !== '') return meant;
  if (known.length === 0) return `; there are no ${what}`;
  const listed = known.slice(0, 20).join(', ');
  return `; known ${what}: ${listed}${known.length > 20 ? `, and ${known.length - 20} more` : ''}`;
}
