// Finds the words of a query in a text, and the part of a long text that contains them.

const excerptCharacters = 400;
/** The characters before the first match that an excerpt shows. */
const beforeCharacters = 40;

/**
 * A pattern for the words of a query; null if the query has none. The service ignores accents, but the pattern does not, so the pattern may find
 * fewer words.
 */
export function patternOf(query: string): RegExp | null {
  const words = query.match(/[\p{L}\p{N}]+\*?/gu) ?? [];
  const parts = words.map(word => (word.endsWith('*') ? `${word.slice(0, -1)}[\\p{L}\\p{N}]*` : word));
  return parts.length === 0 ? null : new RegExp(`(?<![\\p{L}\\p{N}])(${parts.join('|')})(?![\\p{L}\\p{N}])`, 'giu');
}

/** One line of a text: its beginning, or the part with the first word of the query. */
export function excerptOf(text: string, query: string): string {
  const found = patternOf(query)?.exec(text)?.index ?? 0;
  const isCut = found > beforeCharacters * 2;
  const start = isCut ? found - beforeCharacters : 0;
  const line = text
    .slice(start, start + excerptCharacters)
    .replace(/\s+/g, ' ')
    .trim();
  return isCut ? `…${line}` : line;
}
