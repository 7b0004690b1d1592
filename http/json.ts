// Strict reading of JSON bodies: one pass over the bytes checks grammar, depth and keys; then JSON.parse builds the value.
//
// JSON.parse alone would take 500 KB of nested brackets, which later break stringify and packing, keep the last of two
// equal keys, which another reader may not, let `__proto__` through, and round integers beyond ±(2^53 − 1).
import { isUtf8 } from 'node:buffer';
import { bigIntegerDigitsMin, isBigInteger, parseExactly } from '../runtime/exact-json.ts';
import type { Json } from '../runtime/packing.ts';
import { type Problem, problem } from './problem.ts';

export const jsonDepthMax = 64;

export type JsonReading =
  | { readonly kind: 'value'; readonly value: Json }
  /** `pointer`: where a value is refused that is valid JSON. */
  | { readonly kind: 'refused'; readonly message: string; readonly pointer?: string };

/** What becomes of an integer that a double cannot hold exactly: the document is refused, or it is read as text. */
export type BigIntegers = 'refuse' | 'text';

/** The value of a document, or why it is refused, with the offset in bytes. Never throws. */
export function readJson(bytes: Uint8Array, bigIntegers: BigIntegers = 'refuse'): JsonReading {
  if (!isUtf8(bytes)) return { kind: 'refused', message: 'the body is not valid UTF-8' };
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  takesBig = bigIntegers === 'text';
  hasBig = false;
  try {
    checkDocument(buffer);
    const text = buffer.toString();
    return { kind: 'value', value: (hasBig ? parseExactly(text).value : JSON.parse(text)) as Json };
  } catch (error) {
    if (error instanceof JsonFault) {
      const { message, at, pointer } = error;
      return { kind: 'refused', message: `${message} at byte ${at}`, ...(pointer !== undefined && { pointer }) };
    }
    return { kind: 'refused', message: 'the body is not valid JSON' };
  }
}

/** The refusal as an answer: the pointer of a value that is refused stands in `errors`. */
export function jsonProblem({ message, pointer }: Extract<JsonReading, { readonly kind: 'refused' }>): Problem {
  return problem('invalid_json', message, pointer === undefined ? undefined : { errors: [{ pointer, message }] });
}

class JsonFault extends Error {
  readonly at: number;
  readonly pointer: string | undefined;
  constructor(message: string, at: number, pointer?: string) {
    super(message);
    this.at = at;
    this.pointer = pointer;
  }
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

// Which containers are open. The scan is synchronous and never nests, so one set of tables serves all.
const isObject = new Uint8Array(jsonDepthMax + 1);
// So with large integers: whether this scan takes them, and has met one.
let takesBig = false;
let hasBig = false;

function checkDocument(b: Buffer): void {
  let depth = 0;
  let i = skipSpace(b, 0);
  if (i === b.length) throw new JsonFault('the body is empty', i);
  value: for (;;) {
    const c = b[i];
    if (c === openBrace || c === openBracket) {
      if (depth === jsonDepthMax) throw new JsonFault(`JSON is nested deeper than ${jsonDepthMax}`, i);
      const object = c === openBrace;
      isObject[++depth] = object ? 1 : 0;
      i = skipSpace(b, i + 1);
      if (object) openKeys(depth);
      if (b[i] !== (object ? closeBrace : closeBracket)) {
        if (object) i = skipKey(b, i, depth);
        continue;
      }
      if (object) closeKeys(depth);
      depth--;
      i++;
    } else i = skipScalar(b, i);
    // A value ended before i.
    for (;;) {
      i = skipSpace(b, i);
      if (depth === 0) {
        if (i === b.length) return;
        throw new JsonFault('there is more after the JSON document', i);
      }
      const object = isObject[depth] === 1;
      if (b[i] === comma) {
        i = skipSpace(b, i + 1);
        if (object) i = skipKey(b, i, depth);
        continue value;
      }
      if (b[i] !== (object ? closeBrace : closeBracket)) unexpected(b, i, object ? '"," or "}"' : '"," or "]"');
      if (object) closeKeys(depth);
      depth--;
      i++;
    }
  }
}

function unexpected(b: Buffer, i: number, wanted: string): never {
  if (i >= b.length) throw new JsonFault(`JSON ends where ${wanted} was expected`, i);
  throw new JsonFault(`JSON is malformed: ${wanted} was expected`, i);
}

function skipSpace(b: Buffer, from: number): number {
  let i = from;
  for (;;) {
    const c = b[i];
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return i;
    i++;
  }
}

function skipScalar(b: Buffer, i: number): number {
  switch (b[i]) {
    case quote:
      return skipString(b, i);
    case 0x74:
      return skipWord(b, i, 'true');
    case 0x66:
      return skipWord(b, i, 'false');
    case 0x6e:
      return skipWord(b, i, 'null');
    default:
      return skipNumber(b, i);
  }
}

function skipWord(b: Buffer, start: number, word: string): number {
  for (let k = 1; k < word.length; k++) if (b[start + k] !== word.charCodeAt(k)) unexpected(b, start, 'a value');
  return start + word.length;
}

/** From the opening quote to behind the closing one. */
function skipString(b: Buffer, start: number): number {
  let i = start + 1;
  for (;;) {
    const c = b[i];
    if (c === quote) return i + 1;
    if (c === backslash) i = skipEscape(b, i);
    else if (c === undefined) throw new JsonFault('JSON ends inside a string', i);
    else if (c < 0x20) throw new JsonFault('a control character in a string must be escaped', i);
    else i++;
  }
}

function skipEscape(b: Buffer, at: number): number {
  const c = b[at + 1];
  if (c === 0x75) {
    checkUnit(b, at);
    if (!isSurrogate(b, at)) return at + 6;
    // Half of a pair has no form in UTF-8: it would become another character on its way to the store.
    const next = at + 6;
    if (isLow(b, at) || b[next] !== backslash || b[next + 1] !== 0x75) throw new JsonFault(halfPair, at);
    checkUnit(b, next);
    if (!isSurrogate(b, next) || !isLow(b, next)) throw new JsonFault(halfPair, at);
    return at + 12;
  }
  // " \ / b f n r t
  if (c === 0x22 || c === 0x5c || c === 0x2f || c === 0x62 || c === 0x66 || c === 0x6e || c === 0x72 || c === 0x74) {
    return at + 2;
  }
  throw new JsonFault('an unknown escape in a string', at);
}

const halfPair = 'half of a surrogate pair in a string';

function checkUnit(b: Buffer, at: number): void {
  for (let k = 2; k < 6; k++) if (!isHex(b[at + k])) throw new JsonFault('a broken \\u escape in a string', at);
}

/** Whether the escape is one of d800 to dfff. */
function isSurrogate(b: Buffer, at: number): boolean {
  return (b[at + 2]! | 0x20) === 0x64 && b[at + 3]! >= 0x38;
}

/** Of a surrogate: whether it is from dc00 on. */
function isLow(b: Buffer, at: number): boolean {
  return (b[at + 3]! | 0x20) >= 0x63;
}

function isHex(c: number | undefined): boolean {
  return c !== undefined && (isDigit(c) || (c >= 0x41 && c <= 0x46) || (c >= 0x61 && c <= 0x66));
}

function isDigit(c: number | undefined): boolean {
  return c !== undefined && c >= 0x30 && c <= 0x39;
}

function skipNumber(b: Buffer, start: number): number {
  let i = b[start] === 0x2d ? start + 1 : start;
  if (b[i] === 0x30) i++;
  else i = skipDigits(b, i, start);
  const c = b[i];
  if (c !== 0x2e && c !== 0x65 && c !== 0x45) {
    if (i - start >= bigIntegerDigitsMin) checkInteger(b, start, i);
    return i;
  }
  if (c === 0x2e) i = skipDigits(b, i + 1, start);
  if (b[i] === 0x65 || b[i] === 0x45) {
    i++;
    if (b[i] === 0x2b || b[i] === 0x2d) i++;
    i = skipDigits(b, i, start);
    checkSize(b, start, i);
  } else if (i - start > digitsSafe) checkSize(b, start, i);
  return i;
}

/** JSON.parse rounds what a double cannot hold. */
function checkInteger(b: Buffer, start: number, end: number): void {
  if (!isBigInteger(b.toString('latin1', start, end))) return;
  hasBig = true;
  if (takesBig) return;
  const pointer = pointerTo(b, start);
  const limit = 'beyond ±9007199254740991 and would be rounded; send it as text';
  throw new JsonFault(`the integer at "${pointer}" is ${limit}`, start, pointer);
}

/** Without an exponent a number with so many characters is a finite one. */
const digitsSafe = 308;

/** JSON.parse makes Infinity of what is too large, and infinities are written as null. */
function checkSize(b: Buffer, start: number, end: number): void {
  if (Number.isFinite(Number(b.toString('latin1', start, end)))) return;
  const pointer = pointerTo(b, start);
  throw new JsonFault(`the number at "${pointer}" is too large: at most 1.7976931348623157e308`, start, pointer);
}

/** JSON Pointer of the value that begins here; all before it is sound. */
function pointerTo(b: Buffer, at: number): string {
  const path: (string | number)[] = [];
  for (let i = 0; i < at; ) {
    const c = b[i];
    const last = path.length - 1;
    if (c === quote) {
      const end = skipString(b, i);
      if (b[skipSpace(b, end)] === 0x3a) path[last] = keyAt(b, i, end);
      i = end;
      continue;
    }
    if (c === openBrace) path.push('');
    else if (c === openBracket) path.push(0);
    else if (c === closeBrace || c === closeBracket) path.pop();
    else if (c === comma && typeof path[last] === 'number') path[last]++;
    i++;
  }
  return path.map(key => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function skipDigits(b: Buffer, from: number, start: number): number {
  let i = from;
  while (isDigit(b[i])) i++;
  if (i === from) unexpected(b, start, 'a value');
  return i;
}

// The keys of the objects that are open: a hash and a span each, compared one by one while an object has few, then as a
// set of strings. One slot a key; the keys of the object at a depth begin at keysFrom[depth].
const keysAsSpansMax = 16;
// FNV-1a over the bytes of the key with its escapes undone.
const hashBasis = 0x811c9dc5 | 0;
const hashPrime = 0x01000193;
const hashes = new Int32Array(jsonDepthMax * keysAsSpansMax);
const starts = new Int32Array(jsonDepthMax * keysAsSpansMax);
const ends = new Int32Array(jsonDepthMax * keysAsSpansMax);
const keysFrom = new Int32Array(jsonDepthMax + 1);
const keySets: (Set<string> | null)[] = new Array(jsonDepthMax + 1).fill(null);
let keysEnd = 0;

function openKeys(depth: number): void {
  if (depth === 1) keysEnd = 0;
  keysFrom[depth] = keysEnd;
  keySets[depth] = null;
}

function closeKeys(depth: number): void {
  keysEnd = keysFrom[depth]!;
  keySets[depth] = null;
}

const protoHash = hashText('__proto__');

/** From the opening quote of a key to the beginning of its value; refuses a key that was there already. */
function skipKey(b: Buffer, start: number, depth: number): number {
  if (b[start] !== quote) unexpected(b, start, 'a key in quotes');
  let hash = hashBasis;
  let i = start + 1;
  let plain = true;
  for (;;) {
    const c = b[i];
    if (c === quote) break;
    if (c === backslash) {
      plain = false;
      i = skipEscape(b, i);
    } else if (c === undefined) throw new JsonFault('JSON ends inside a string', i);
    else if (c < 0x20) throw new JsonFault('a control character in a string must be escaped', i);
    else {
      hash = Math.imul(hash ^ c, hashPrime);
      i++;
    }
  }
  const end = i + 1;
  if (!plain) hash = hashText(keyAt(b, start, end));
  if (hash === protoHash && keyAt(b, start, end) === '__proto__') {
    throw new JsonFault('the key "__proto__" is not allowed', start);
  }
  noteKey(b, hash, start, end, depth);
  i = skipSpace(b, end);
  if (b[i] !== 0x3a) unexpected(b, i, '":"');
  return skipSpace(b, i + 1);
}

function noteKey(b: Buffer, hash: number, start: number, end: number, depth: number): void {
  const from = keysFrom[depth]!;
  let set = keySets[depth]!;
  if (set === null && keysEnd - from === keysAsSpansMax) {
    set = new Set();
    for (let k = from; k < keysEnd; k++) set.add(keyAt(b, starts[k]!, ends[k]!));
    keySets[depth] = set;
  }
  if (set !== null) {
    const size = set.size;
    if (set.add(keyAt(b, start, end)).size === size) repeated(b, start, end);
    return;
  }
  for (let k = from; k < keysEnd; k++) {
    if (hashes[k] === hash && keyAt(b, starts[k]!, ends[k]!) === keyAt(b, start, end)) repeated(b, start, end);
  }
  hashes[keysEnd] = hash;
  starts[keysEnd] = start;
  ends[keysEnd++] = end;
}

function repeated(b: Buffer, start: number, end: number): never {
  const key = b.toString('utf8', start, Math.min(end, start + 80));
  throw new JsonFault(`the key ${key} is there twice`, start);
}

/** The key between the quotes, its escapes undone. */
function keyAt(b: Buffer, start: number, end: number): string {
  return JSON.parse(b.toString('utf8', start, end)) as string;
}

function hashText(text: string): number {
  let hash = hashBasis;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, hashPrime);
  return hash;
}
