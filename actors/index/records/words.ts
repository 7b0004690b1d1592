// The words of texts and queries. Case and accents are folded, and every character that is neither a letter nor a digit separates words.

/** A word is cut to at most this many characters: longer words with the same leading characters are equal. */
export const wordCharactersMax = 64;

const ascii = /^[\0-\x7f]*$/;
const asciiWord = /[a-z0-9]+/g;
// Each Chinese or Japanese character is a word. A query of several adjacent characters is a phrase.
const anyWord = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|(?:(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}])[\p{L}\p{N}])+/gu;
const wordAndStar = new RegExp(`(${anyWord.source})(\\*?)`, 'gu');

/** Folds case, accents and compatibility forms. */
function fold(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  // Marks are removed before `normalize` too, because sorting a long run of marks takes quadratic time.
  // `toUpperCase` comes first, because it maps ß to SS and the three forms of sigma to one.
  return text
    .replace(/\p{M}+/gu, '')
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ');
}

export function wordsOf(text: string): string[] {
  if (isWord(text)) return [text];
  return ascii.test(text) ? cutWords(text.toLowerCase().match(asciiWord)) : wordsIn(fold(text));
}

function wordsIn(folded: string): string[] {
  return cutWords(folded.match(ascii.test(folded) ? asciiWord : anyWord));
}

function cutWords(words: string[] | null): string[] {
  if (words === null) return [];
  for (let i = 0; i < words.length; i++) if (words[i]!.length > wordCharactersMax) words[i] = cut(words[i]!);
  return words;
}

/** Whether the text is one short ASCII word that is already folded, as many numbers and field names are. */
function isWord(text: string): boolean {
  if (text.length === 0 || text.length > wordCharactersMax) return false;
  for (let i = 0; i < text.length; i++) if (!isWordAt(text, i)) return false;
  return true;
}

function cut(word: string): string {
  const isSplit = (word.charCodeAt(wordCharactersMax - 1) & 0xfc00) === 0xd800;
  return word.slice(0, isSplit ? wordCharactersMax - 1 : wordCharactersMax);
}

/** A word of a query. `isPrefix`: the term stands for every word that begins with `word`. */
export type SearchTerm = { readonly word: string; readonly isPrefix: boolean };
/** Words that must be adjacent, in this order. */
export type Phrase = readonly SearchTerm[];

/**
 * Parses a query into phrases, all of which must match; a repeated phrase is returned once. Every text is a valid query; a quotation without a
 * closing quote ends where the text ends.
 */
export function parseQuery(query: string): Phrase[] {
  const phrases = new Map<string, Phrase>();
  for (const [piece] of query.matchAll(/"[^"]*"?|[^\s"]+/gu)) {
    const terms = Array.from(fold(piece).matchAll(wordAndStar), ([, word, star]) => ({
      word: cut(word!),
      isPrefix: star === '*',
    }));
    const key = terms.map(({ word, isPrefix }) => `${word}${isPrefix ? '*' : ''}`).join(' ');
    if (terms.length > 0) phrases.set(key, terms);
  }
  return [...phrases.values()];
}

/** Whether each phrase occurs in at least one of the texts. */
export function matchesTexts(phrases: readonly Phrase[], texts: readonly string[]): boolean {
  if (phrases.length === 0) return true;
  const folded = texts.map(text => new FoldedText(text));
  return phrases.every(phrase => folded.some(text => text.has(phrase)));
}

/** A folded text in which several phrases are searched. It is split into words at most once. */
class FoldedText {
  readonly #text: string;
  #isAscii: boolean | null = null;
  #words: readonly string[] | null = null;

  constructor(text: string) {
    this.#text = isWord(text) ? text : fold(text);
  }

  has(phrase: Phrase): boolean {
    if (!hasLetters(this.#text, phrase)) return false;
    this.#isAscii ??= ascii.test(this.#text);
    if (this.#isAscii && phrase.length <= shortPhraseWordsMax) return hasAsciiPhrase(this.#text, phrase);
    this.#words ??= wordsIn(this.#text);
    return hasPhrase(this.#words, phrase);
  }
}

/**
 * Whether the text contains every word of the phrase, even as a part of another word. Most texts fail this test, which is about fifty
 * times as fast as splitting a text into words.
 */
function hasLetters(folded: string, phrase: Phrase): boolean {
  return phrase.every(({ word }) => folded.includes(word));
}

/** A search for a phrase of up to this many words may compare all of them at each word of the text. `hasLongPhrase` is faster for longer ones. */
const shortPhraseWordsMax = 8;

/** Whether the text contains the phrase. The text is split into words only around occurrences of the first word of the phrase. */
function hasAsciiPhrase(folded: string, phrase: Phrase): boolean {
  const first = phrase[0]!.word;
  for (let at = folded.indexOf(first); at >= 0; at = folded.indexOf(first, at + 1)) {
    if ((at === 0 || !isWordAt(folded, at - 1)) && beginsAt(folded, at, phrase)) return true;
  }
  return false;
}

function beginsAt(folded: string, from: number, phrase: Phrase): boolean {
  let at = from;
  for (const { word, isPrefix } of phrase) {
    while (at < folded.length && !isWordAt(folded, at)) at++;
    if (!folded.startsWith(word, at)) return false;
    let end = at + word.length;
    // A word with `wordCharactersMax` characters also stands for longer words that begin with it.
    if (!isPrefix && word.length < wordCharactersMax && end < folded.length && isWordAt(folded, end)) return false;
    while (end < folded.length && isWordAt(folded, end)) end++;
    at = end;
  }
  return true;
}

function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
}

/** Whether the words contain the phrase. */
function hasPhrase(words: readonly string[], phrase: Phrase): boolean {
  if (phrase.length > shortPhraseWordsMax) return hasLongPhrase(words, phrase);
  for (let at = 0; at + phrase.length <= words.length; at++) {
    let matched = 0;
    while (matched < phrase.length && isTerm(words[at + matched]!, phrase[matched]!)) matched++;
    if (matched === phrase.length) return true;
  }
  return false;
}

function isTerm(word: string, term: SearchTerm): boolean {
  return term.isPrefix ? word.startsWith(term.word) : word === term.word;
}

/** Does the same as `hasPhrase`, in a time that hardly depends on the length of the phrase. */
function hasLongPhrase(words: readonly string[], phrase: Phrase): boolean {
  // Bit i stands for the term i of the phrase. A prefix has a star at its end, which no word has.
  const bits = new Map<string, bigint>();
  const prefixLengths = new Set<number>();
  for (const [i, { word, isPrefix }] of phrase.entries()) {
    const key = isPrefix ? `${word}*` : word;
    bits.set(key, (bits.get(key) ?? 0n) | (1n << BigInt(i)));
    if (isPrefix) prefixLengths.add(word.length);
  }
  const last = 1n << BigInt(phrase.length - 1);
  // The bit i is set if the latest words match the terms from the first to the term i.
  let matched = 0n;
  for (const word of words) {
    let terms = bits.get(word) ?? 0n;
    for (const length of prefixLengths) if (length <= word.length) terms |= bits.get(`${word.slice(0, length)}*`) ?? 0n;
    matched = ((matched << 1n) | 1n) & terms;
    if ((matched & last) !== 0n) return true;
  }
  return false;
}
