// A naive matcher, as docs/search.md describes the language, and queries for it.
import { fc } from '../../support/seed.ts';
import { sentence } from './stories.ts';

/** The words of a text, folded as documented: without accents and case. */
function naiveWords(text: string): string[] {
  const folded = text.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('ß', 'ss').toLowerCase();
  return folded.match(/[\p{sc=Han}]|[a-z0-9]+/gu) ?? [];
}

/** Each term is words side by side; a star makes a prefix of its last word. */
export type Term = { readonly words: readonly string[]; readonly isPrefix: boolean };

/** Whether each term stands within one of the texts. */
export function naiveMatch(all: readonly string[], terms: readonly Term[]): boolean {
  const texts = all.map(naiveWords);
  return terms.every(({ words, isPrefix }) =>
    texts.some(text =>
      text.some((_, at) =>
        words.every((word, i) =>
          isPrefix && i === words.length - 1 ? text[at + i]?.startsWith(word) : text[at + i] === word,
        ),
      ),
    ),
  );
}

export const term = fc
  .record({ text: sentence, form: fc.constantFrom('plain', 'quoted', 'prefix') })
  .map(({ text, form }): { query: string; terms: Term[] } => {
    if (form === 'quoted') return { query: `"${text}"`, terms: [{ words: naiveWords(text), isPrefix: false }] };
    const pieces = text.split(' ').filter(piece => piece !== '');
    const isPrefix = form === 'prefix';
    const terms = pieces.map(piece => ({ words: naiveWords(piece), isPrefix }));
    return { query: pieces.map(piece => piece + (isPrefix ? '*' : '')).join('  '), terms };
  });
