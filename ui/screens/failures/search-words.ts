// What to search logs for, to find errors with a pattern of `GET /failures`.

const wordsMax = 8;

/** The words of the pattern that are the same in all errors of the group. */
export function searchOf(pattern: string): string {
  const words = pattern.match(/[\p{L}\p{N}#…]+/gu) ?? [];
  return words
    .filter(word => !/[#…]/.test(word) && word.length > 1)
    .slice(0, wordsMax)
    .join(' ');
}
