// The fingerprint of a failure. Failures of one command have the same fingerprint if the first lines of their errors differ only in
// numbers, ids and quoted texts. Each character is examined a limited number of times, whatever the line contains.
import { createHash } from 'node:crypto';
import { cutText } from '../../../runtime/text.ts';
import { asBuffer } from '../../job/records/journal.ts';

/** Only this many bytes of the first line are read. */
export const lineBytesMax = 2_048;
/** The maximum number of characters of a pattern, and of a sample. */
export const patternCharactersMax = 200;
/** The form of a fingerprint: the first 8 bytes of a hash, in hex. */
export const fingerprintPattern = '^[0-9a-f]{16}$';
export const fingerprintBytes = 8;

const noError = new Uint8Array(0);

/** Stands for a number or an id in a pattern. */
const numberMark = '#';
/** Stands for the text between two quotes in a pattern. */
const textMark = '…';
const uuidCharacters = 36;
/**
 * A word with both letters and digits is an id if it has at least `longIdMin` characters. With at least `shortIdMin` characters it is
 * an id if it is a hexadecimal number, or has two or more groups of digits.
 */
const shortIdMin = 8;
const longIdMin = 16;

/** The fingerprint, in hex, of failures of this command whose errors have this pattern. */
export function fingerprintOf(plugin: string, command: string, pattern: string): string {
  const hash = createHash('sha256').update(`${plugin}\0${command}\0${pattern}`).digest();
  return hash.toString('hex', 0, fingerprintBytes);
}

/**
 * The first non-blank line of an error, without leading blanks, cut to `lineBytesMax`: a view of `error`, in UTF-8. `error`: in UTF-8;
 * undefined: the attempt has no error.
 */
export function errorLine(error: Uint8Array | undefined): Uint8Array {
  if (!error) return noError;
  let from = 0;
  while (from < error.length && error[from]! <= 0x20) from++;
  const limit = Math.min(error.length, from + lineBytesMax);
  let end = from;
  while (end < limit && error[end] !== 0x0a) end++;
  return from === 0 && end === error.length ? error : error.subarray(from, end);
}

export function lineText(line: Uint8Array): string {
  return asBuffer(line).toString();
}

/** The sample that a group stores of this line: the line, trimmed and cut. */
export function sampleOf(line: string): string {
  return cutText(line.trim(), patternCharactersMax);
}

/** The line with marks in place of numbers, ids and quoted texts, and with single spaces, cut to `patternCharactersMax`. */
export function patternOf(line: string): string {
  const quotes = new Quotes(line);
  let pattern = '';
  /** The part of the line from this offset to `at` stays unchanged, and is added to the pattern later, in one piece. */
  let from = 0;
  let at = 0;
  while (at < line.length && pattern.length + at - from <= patternCharactersMax) {
    const code = line.charCodeAt(at);
    if (isWord(code)) {
      const end = wordEnd(line, at);
      const piece = wordPattern(line, at, end);
      if (piece !== null) {
        pattern += line.slice(from, at) + piece.text;
        from = piece.end;
      }
      at = piece === null ? end : piece.end;
    } else if (isBlank(code)) {
      const isRepeated = at > from ? line[at - 1] === ' ' : pattern === '' || pattern.endsWith(' ');
      if (isRepeated || code !== 0x20) {
        pattern += isRepeated ? line.slice(from, at) : `${line.slice(from, at)} `;
        from = at + 1;
      }
      at++;
    } else {
      const close = isQuote(code) ? quotes.closing(at) : null;
      if (close !== null) {
        pattern += line.slice(from, at + 1) + textMark + line[close]!;
        from = close + 1;
      }
      at = close === null ? at + 1 : close + 1;
    }
  }
  return cutText(pattern + line.slice(from, at), patternCharactersMax).trimEnd();
}

/**
 * Whether two lines, in UTF-8, differ only in whole numbers that stand alone, and so have the same pattern. False: their
 * patterns may still be equal. This check takes only a small part of the time that computing both patterns would take.
 */
export function differInNumbers(a: Uint8Array, b: Uint8Array): boolean {
  let at = 0;
  let ahead = 0;
  for (;;) {
    // The first `at` bytes of `a` correspond to the first `at + ahead` bytes of `b`.
    while (at < a.length && a[at] === b[at + ahead]) at++;
    if (at === a.length && at + ahead === b.length) return true;
    let from = at;
    while (from > 0 && isDigit(a[from - 1]!)) from--;
    const end = digitsEnd(a, at);
    const endInB = digitsEnd(b, at + ahead);
    // If neither line has a digit here, the lines also differ in other characters.
    if (end === at && endInB === at + ahead) return false;
    if (!standAlone(a, from, end) || !standAlone(b, from + ahead, endInB)) return false;
    at = end;
    ahead = endInB - end;
  }
}

/**
 * Whether there are digits from `from` to `end`, with ASCII blanks or the ends of the line around them. One of the marks
 * `,.:;` may follow the digits.
 */
function standAlone(line: Uint8Array, from: number, end: number): boolean {
  if (from === end || (from > 0 && !isAsciiBlank(line[from - 1]!))) return false;
  const behind = isNumberMark(line[end]) ? end + 1 : end;
  return behind >= line.length || isAsciiBlank(line[behind]!);
}

function isNumberMark(code: number | undefined): boolean {
  return code === 0x2c || code === 0x2e || code === 0x3a || code === 0x3b;
}

function digitsEnd(line: Uint8Array, from: number): number {
  let at = from;
  while (at < line.length && isDigit(line[at]!)) at++;
  return at;
}

/**
 * The pattern of the word from `from` to `end`. The pattern may stand for more than the word: the returned `end` is the
 * offset at which the rest of the line begins. Null: the word is its own pattern.
 */
function wordPattern(line: string, from: number, end: number): { readonly text: string; readonly end: number } | null {
  if (isUuidAt(line, from)) return { text: numberMark, end: from + uuidCharacters };
  let at = from;
  while (at < end && !isDigit(line.charCodeAt(at))) at++;
  if (at === end) return null;
  if (isId(line, from, end)) return { text: numberMark, end };
  let text = '';
  let start = from;
  while (at < end) {
    if (!isDigit(line.charCodeAt(at))) at++;
    else {
      text += line.slice(start, at) + numberMark;
      at = numberEnd(line, at);
      start = at;
    }
  }
  return { text: text + line.slice(start, at), end: at };
}

function wordEnd(line: string, from: number): number {
  let at = from;
  while (isWord(line.charCodeAt(at))) at++;
  return at;
}

/** The end of a number such as `3`, `1,000.5`, `12:30:55` or `127.0.0.1:80`. */
function numberEnd(line: string, from: number): number {
  let at = from;
  for (;;) {
    while (isDigit(line.charCodeAt(at))) at++;
    const isPoint = line[at] === '.' || line[at] === ',' || line[at] === ':';
    if (!isPoint || !isDigit(line.charCodeAt(at + 1))) return at;
    at++;
  }
}

function isId(line: string, from: number, end: number): boolean {
  const length = end - from;
  if (length < shortIdMin) return false;
  const isPrefixed = line[from] === '0' && (line[from + 1] === 'x' || line[from + 1] === 'X');
  let letters = 0;
  let groups = 0;
  let isHex = true;
  for (let at = from; at < end; at++) {
    const code = line.charCodeAt(at);
    if (!isDigit(code)) letters++;
    else if (at === from || !isDigit(line.charCodeAt(at - 1))) groups++;
    isHex &&= isHexDigit(code) || (isPrefixed && at === from + 1);
  }
  if (letters === 0 || groups === 0) return false;
  return length >= longIdMin || isHex || groups > 1;
}

function isUuidAt(line: string, from: number): boolean {
  if (line[from + 8] !== '-' || isWord(line.charCodeAt(from + uuidCharacters))) return false;
  for (let k = 0; k < uuidCharacters; k++) {
    const isHyphen = k === 8 || k === 13 || k === 18 || k === 23;
    const code = line.charCodeAt(from + k);
    if (isHyphen ? code !== 0x2d : !isHexDigit(code)) return false;
  }
  return true;
}

/** By the code of each opening quote: the quote that closes it. */
const closings = new Map(['""', "''", '``', '“”', '‘’', '«»'].map(pair => [pair.charCodeAt(0), pair[1]!]));

/** Finds quoted texts in a line, from left to right. */
class Quotes {
  readonly #line: string;
  /** Closing quotes that were not found in the rest of the line. They are not searched for again. */
  readonly #missing = new Set<string>();

  constructor(line: string) {
    this.#line = line;
  }

  /** The offset of the quote that closes the quote at the offset `at`. Null: no quoted text begins at `at`. */
  closing(at: number): number | null {
    const line = this.#line;
    const close = closings.get(line.charCodeAt(at));
    if (close === undefined || this.#missing.has(close)) return null;
    // An apostrophe inside a word is not a quote. `#` counts as a part of a word, so that `patternOf` is idempotent.
    const isApostrophe = (place: number, beside: number) =>
      line[place] === "'" && (isWord(line.charCodeAt(beside)) || line[beside] === numberMark);
    if (isApostrophe(at, at - 1)) return null;
    let end = line.indexOf(close, at + 1);
    while (end >= 0 && isApostrophe(end, end + 1)) end = line.indexOf(close, end + 1);
    if (end >= 0) return end;
    this.#missing.add(close);
    return null;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

/** Whether the character counts as a letter or digit. From U+00C0 on all characters do, except U+2000 to U+206F (punctuation) and U+3000. */
function isWord(code: number): boolean {
  if (code < 0x80) return isDigit(code) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
  return code >= 0xc0 && (code < 0x2000 || code > 0x206f) && code !== 0x3000;
}

function isQuote(code: number): boolean {
  return code === 0x22 || code === 0x27 || (code >= 0x60 && closings.has(code));
}

function isAsciiBlank(code: number): boolean {
  return code <= 0x20 || code === 0x7f;
}

function isBlank(code: number): boolean {
  return isAsciiBlank(code) || code === 0xa0 || code === 0x2028 || code === 0x2029 || code === 0x3000;
}
