// Marks the words of a query in a text.
import type { JSX } from 'preact';

/** A pattern for the words of a query; null: it has none. The service also finds words that differ by accents: those are not marked. */
function patternOf(query: string): RegExp | null {
  const words = query.match(/[\p{L}\p{N}]+\*?/gu) ?? [];
  const parts = words.map(word => (word.endsWith('*') ? `${word.slice(0, -1)}[\\p{L}\\p{N}]*` : word));
  return parts.length === 0 ? null : new RegExp(`(?<![\\p{L}\\p{N}])(${parts.join('|')})(?![\\p{L}\\p{N}])`, 'giu');
}

export function Highlight({ text, words }: { text: string; words: string }): JSX.Element {
  const pattern = patternOf(words);
  if (pattern === null) return <>{text}</>;
  // With a group in the pattern, every second piece is a match.
  return <>{text.split(pattern).map((piece, at) => (at % 2 === 1 ? <mark key={at}>{piece}</mark> : piece))}</>;
}
