// Marks the words of a query in a text.
import type { JSX } from 'preact';
import { patternOf } from './excerpt.ts';

export function Highlight({ text, words }: { text: string; words: string }): JSX.Element {
  const pattern = patternOf(words);
  if (pattern === null) return <>{text}</>;
  // With a group in the pattern, every second piece is a match.
  return <>{text.split(pattern).map((piece, at) => (at % 2 === 1 ? <mark key={at}>{piece}</mark> : piece))}</>;
}
