// Words, as the search knows them: case and accents folded, everything that is neither letter nor digit parts them.
import type { Body } from '../../runtime/host/outcome.ts';
import { textsOf } from './texts.ts';

/** Words are told apart by so many characters from their beginning. */
export const wordCharactersMax = 64;

const ascii = /^[\0-\x7f]*$/;
const asciiWord = /[a-z0-9]+/g;
// Where words are written without spaces, each character is one: what stands side by side is found as a phrase.
const anyWord = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|(?:(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}])[\p{L}\p{N}])+/gu;
const wordAndStar = new RegExp(`(${anyWord.source})(\\*?)`, 'gu');

/** Case and accents folded, compatible forms made one. */
function fold(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  // Upper case first: it makes one of ß and ss, and of the three letters sigma but one, which lower case parts again.
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ');
}

/** The words of a text, in order. */
export function wordsOf(text: string): string[] {
  if (isWord(text)) return [text];
  const folded = fold(text);
  const words = folded.match(ascii.test(folded) ? asciiWord : anyWord) ?? [];
  for (let i = 0; i < words.length; i++) if (words[i]!.length > wordCharactersMax) words[i] = cut(words[i]!);
  return words;
}

/** Whether the text is a word as it is: most numbers and names of fields are. */
function isWord(text: string): boolean {
  if (text.length === 0 || text.length > wordCharactersMax) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // a to z, or 0 to 9.
    if ((code < 97 || code > 122) && (code < 48 || code > 57)) return false;
  }
  return true;
}

function cut(word: string): string {
  const isSplit = (word.charCodeAt(wordCharactersMax - 1) & 0xfc00) === 0xd800;
  return word.slice(0, isSplit ? wordCharactersMax - 1 : wordCharactersMax);
}

/** A word that is looked for; a prefix stands for every word that begins so. */
export type Wanted = { readonly word: string; readonly isPrefix: boolean };
/** Words that stand side by side, in this order. */
export type Phrase = readonly Wanted[];

/** What is asked: every phrase must be there. Any text is a query; the end of the text closes a quote. */
export function parseQuery(query: string): Phrase[] {
  const phrases: Phrase[] = [];
  for (const [piece] of query.matchAll(/"[^"]*"?|[^\s"]+/gu)) {
    const words = [...fold(piece).matchAll(wordAndStar)];
    if (words.length > 0) phrases.push(words.map(([, word, star]) => ({ word: cut(word!), isPrefix: star === '*' })));
  }
  return phrases;
}

/** Whether a log has every phrase, each within one of its texts. */
export function matchesBody(phrases: readonly Phrase[], body: Body): boolean {
  if (phrases.length === 0) return true;
  const texts = textsOf(body).map(wordsOf);
  return phrases.every(phrase => texts.some(words => hasPhrase(words, phrase)));
}

function hasPhrase(words: readonly string[], phrase: Phrase): boolean {
  for (let at = 0; at + phrase.length <= words.length; at++) {
    if (phrase.every(({ word, isPrefix }, i) => (isPrefix ? words[at + i]!.startsWith(word) : words[at + i] === word)))
      return true;
  }
  return false;
}
