// A strict reader of JSON bodies. It refuses documents that JSON.parse accepts, but that other parsers read differently.
//
// JSON.parse accepts deep nesting, `__proto__` as a key, and half surrogate pairs; it keeps the last of two equal keys, and rounds integers
// beyond ±(2^53 − 1). Besides JSON.parse, a valid body costs one pass over its text and one over its value. If the value has a number beyond
// ±(2^53 − 1), `parseExactly` parses the body again. `firstFault` parses a refused body again to find the fault, unless the fault is in the
// encoding or the depth.
import { isUtf8 } from 'node:buffer';
import { isBigInteger, parseExactly } from '../runtime/exact-json.ts';
import type { Json } from '../runtime/packing.ts';
import { mayBeJson } from './head.ts';
import { type HttpProblem, pointerPart, problem, shownPointer } from './problem.ts';

export const jsonDepthMax = 64;

export type JsonReading =
  | { readonly kind: 'value'; readonly value: Json }
  /** `pointer` leads to a number that is valid JSON but out of range (or see `shownPointer`); absent for any other fault. */
  | { readonly kind: 'refused'; readonly message: string; readonly pointer?: string };

/** How to treat integers beyond ±(2^53 − 1): refuse the document, or read them as strings. */
export type BigIntegers = 'refuse' | 'text';

/** Returns the value of a document, or why the document is refused. Never throws. */
export function readJson(bytes: Uint8Array, bigIntegers: BigIntegers = 'refuse'): JsonReading {
  if (!isUtf8(bytes)) return { kind: 'refused', message: 'the body is not valid UTF-8' };
  return readJsonText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(), bigIntegers);
}

/** As `readJson`, for the text of a document that is valid UTF-8. */
export function readJsonText(text: string, bigIntegers: BigIntegers = 'refuse'): JsonReading {
  const { keys, tooDeepAt } = outlineOf(text);
  if (tooDeepAt !== null) return refusal(text, new JsonFault(`JSON is nested deeper than ${jsonDepthMax}`, tooDeepAt));
  try {
    let value: unknown = JSON.parse(text);
    let content = contentOf(value);
    if (content.mayRound) {
      const { value: exact, integersAsText } = parseExactly(text);
      if (integersAsText > 0 && bigIntegers === 'refuse') return refusal(text, firstFault(text, bigIntegers));
      value = exact;
      content = contentOf(value);
    }
    if (content.keys === keys && !content.isRefused) return { kind: 'value', value: value as Json };
  } catch {
    // The text is not JSON.
  }
  return refusal(text, firstFault(text, bigIntegers));
}

/** Returns the value of a body, or a problem: 415 or 400. If the fault is a number out of range, `errors` has its pointer. */
export function readJsonBody(
  contentType: string | undefined,
  bytes: Uint8Array,
  bigIntegers: BigIntegers = 'refuse',
): Extract<JsonReading, { readonly kind: 'value' }> | HttpProblem {
  if (!mayBeJson(contentType)) {
    const detail = 'the body must be JSON, and the header Content-Type must say so: application/json';
    return problem('unsupported_media_type', detail);
  }
  const reading = readJson(bytes, bigIntegers);
  if (reading.kind === 'value') return reading;
  const { message, pointer } = reading;
  return problem('invalid_json', message, pointer === undefined ? undefined : { errors: [{ pointer, message }] });
}

class JsonFault extends Error {
  /** The offset of the fault in the text, in UTF-16 units. */
  readonly at: number;
  readonly pointer: string | undefined;
  constructor(message: string, at: number, pointer?: string) {
    super(message);
    this.at = at;
    this.pointer = pointer;
  }
}

function refusal(text: string, { message, at, pointer }: JsonFault): JsonReading {
  const byte = Buffer.byteLength(text.slice(0, at));
  return { kind: 'refused', message: `${message} at byte ${byte}`, ...(pointer !== undefined && { pointer }) };
}

/**
 * Counts the keys (the colons outside of strings), and finds the first bracket beyond `jsonDepthMax`. For invalid JSON the number of keys
 * may be wrong.
 */
function outlineOf(text: string): { readonly keys: number; readonly tooDeepAt: number | null } {
  let keys = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      i = stringEnd(text, i);
    } else if (c === 0x3a) keys++;
    else if (c === 0x7b || c === 0x5b) {
      if (++depth > jsonDepthMax) return { keys, tooDeepAt: i };
    } else if (c === 0x7d || c === 0x5d) depth--;
  }
  return { keys, tooDeepAt: null };
}

/** The index of the closing quote, or the length of the text if the quote is missing. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - backslashes - 1) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

type Content = {
  /** The number of keys in the value: fewer than in the text if an object has a key twice. */
  keys: number;
  /** Whether the value has `__proto__` as a key, half of a surrogate pair, or a number that became infinite. */
  isRefused: boolean;
  /** Whether the value has a number beyond ±(2^53 − 1), which may be a rounded integer. */
  mayRound: boolean;
};

function contentOf(value: unknown): Content {
  const content: Content = { keys: 0, isRefused: false, mayRound: false };
  inspect(value, content);
  return content;
}

function inspect(value: unknown, content: Content): void {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return;
    content.isRefused ||= !Number.isFinite(value);
    content.mayRound ||= Math.abs(value) > Number.MAX_SAFE_INTEGER;
  } else if (typeof value === 'string') content.isRefused ||= !value.isWellFormed();
  else if (Array.isArray(value)) for (let i = 0; i < value.length; i++) inspect(value[i], content);
  else if (typeof value === 'object' && value !== null) {
    for (const key in value) {
      content.keys++;
      content.isRefused ||= key === '__proto__' || !key.isWellFormed();
      inspect((value as { readonly [key: string]: unknown })[key], content);
    }
  }
}

/** Parses a refused document whose nesting is within the limit, to find its first fault. */
function firstFault(text: string, bigIntegers: BigIntegers): JsonFault {
  const path: (string | number)[] = [];
  let at = 0;

  function take(pattern: RegExp): string | null {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? null;
    at += found?.length ?? 0;
    return found;
  }

  function expected(wanted: string): JsonFault {
    const what = at < text.length ? 'JSON is malformed: ' : 'the JSON ends where ';
    return new JsonFault(`${what}${wanted} was expected`, at);
  }

  function takeMark(mark: string, wanted = `"${mark}"`): void {
    if (text[at] !== mark) throw expected(wanted);
    at++;
    take(space);
  }

  function takeValue(): void {
    const start = at;
    if (text[at] === '{') takeMembers('{', '}', new Set());
    else if (text[at] === '[') takeMembers('[', ']', null);
    else if (text[at] === '"') takeString();
    else if (take(word) === null) checkNumber(take(number), start);
    take(space);
  }

  /** `keys` are the keys that the object has had so far; null for an array. */
  function takeMembers(open: string, close: string, keys: Set<string> | null): void {
    takeMark(open);
    for (let index = 0; index > 0 || text[at] !== close; index++) {
      path.push(keys ? takeKey(keys) : index);
      takeValue();
      path.pop();
      if (text[at] === close) break;
      takeMark(',', `"," or "${close}"`);
    }
    at++;
  }

  function takeKey(keys: Set<string>): string {
    const start = at;
    if (text[at] !== '"') throw expected('a key in quotes');
    const key = takeString();
    if (key === '__proto__') throw new JsonFault('the key "__proto__" is not allowed', start);
    if (keys.size === keys.add(key).size)
      throw new JsonFault(`the key ${text.slice(start, Math.min(at, start + 80))} occurs twice`, start);
    take(space);
    takeMark(':');
    return key;
  }

  function takeString(): string {
    const start = at++;
    for (take(plain); text[at] !== '"'; take(plain)) {
      if (at >= text.length) throw new JsonFault('the JSON ends inside a string', at);
      if (text[at] !== '\\') throw new JsonFault('a control character in a string must be escaped', at);
      if (take(escaped) === null) {
        throw new JsonFault(
          text[at + 1] === 'u' ? 'a broken \\u escape in a string' : 'an unknown escape in a string',
          at,
        );
      }
    }
    const value: string = JSON.parse(text.slice(start, ++at));
    // UTF-8 cannot encode half of a surrogate pair: the store would hold another character in its place.
    if (!value.isWellFormed()) throw new JsonFault('half of a surrogate pair in a string', start);
    return value;
  }

  function checkNumber(literal: string | null, start: number): void {
    if (literal === null) throw expected('a value');
    if (bigIntegers === 'refuse' && isBigInteger(literal)) {
      const limit = 'beyond ±9007199254740991 and would be rounded; send it as a string';
      throw outOfRange('integer', `is ${limit}`, start);
    }
    if (Number.isFinite(Number(literal)) || isBigInteger(literal)) return;
    throw outOfRange('number', 'is too large: at most 1.7976931348623157e308', start);
  }

  function outOfRange(what: string, why: string, start: number): JsonFault {
    const pointer = path.map(key => `/${pointerPart(key)}`).join('');
    const shown = shownPointer(pointer);
    return new JsonFault(`the ${what} ${shown === pointer ? 'at' : 'inside'} "${shown}" ${why}`, start, shown);
  }

  try {
    take(space);
    if (at === text.length) throw new JsonFault('the body is empty', at);
    takeValue();
    if (at < text.length) throw new JsonFault('there is more after the JSON document', at);
  } catch (error) {
    if (error instanceof JsonFault) return error;
  }
  return new JsonFault('the body is not valid JSON', at);
}

const space = /[ \t\r\n]*/y;
const word = /true|false|null/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** Matches characters up to a double quote, a backslash or a control character below U+0020. */
const plain = /[ !#-[\]-\uffff]*/y;
const escaped = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
