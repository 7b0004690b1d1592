// Converts values of plugin code into plain values: null, booleans, finite numbers, well-formed texts, and lists and objects of plain
// values. A BigInt becomes text, and an unpaired surrogate becomes U+FFFD. Any other value is converted as `JSON.stringify` would do it, or
// refused. If the value as a whole is one that JSON lacks, such as undefined, it becomes null.
import { pack } from '../../packing.ts';

/** The maximum depth of a value. A deeper value could overflow the stack of code that reads it. */
export const nestingMax = 200;

/** Packs any value. Throws if the value cannot be converted to a plain value. */
export function packPlain(value: unknown): Buffer {
  return pack(toPlainValue(value));
}

/** The same value if it is plain, otherwise a plain copy. */
export function toPlainValue(value: unknown): unknown {
  if (isPlain(value, 0)) return value;
  const text = JSON.stringify(value, textOfBigInt);
  const copy = text === undefined ? null : JSON.parse(text.replaceAll(/\\(?:ud[89a-f]..|.)/g, whole));
  isPlain(copy, 0);
  return copy;
}

let integersAsText = 0;

/** How many BigInts became text since the last call. */
export function takeTextCount(): number {
  const count = integersAsText;
  integersAsText = 0;
  return count;
}

function textOfBigInt(_: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  integersAsText++;
  return String(value);
}

/**
 * Replaces the JSON escape of an unpaired surrogate with U+FFFD, because UTF-8 cannot represent such a surrogate. Keeps other
 * escapes. `JSON.stringify` writes \ud800 to \udfff only for unpaired surrogates.
 */
function whole(escaped: string): string {
  return escaped.length > 2 ? '\ufffd' : escaped;
}

function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed();
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      return value === null || isPlainObject(value, depth);
    default:
      return false;
  }
}

function isPlainObject(value: object, depth: number): boolean {
  if (depth >= nestingMax) throw new TypeError(`nested deeper than ${nestingMax} levels, or circular`);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isPlain(value[i], depth + 1)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) {
    if (!key.isWellFormed() || !isPlain((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}
