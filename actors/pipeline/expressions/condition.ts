// Evaluates conditions on the ledger thread, without a job. The time is linear in the size of the data.
import type { Condition, Operator } from '../../../config/pipeline/definition.ts';
import { equalTo } from '../../../runtime/packed-steps.ts';
import type { Json } from '../../../runtime/packing.ts';
import { compilePattern, matchStepsMax, type Pattern } from '../../../runtime/pattern.ts';
import { listCount } from '../../../runtime/splice.ts';
import { type Data, LargeText, LargeValue } from './lookup.ts';

/** The number of match steps (runtime/pattern.ts) that the patterns of one condition may still take. */
type Steps = { left: number };

/**
 * Whether the condition is met. All its patterns share `matchStepsMax` match steps; a pattern that needs more steps than remain does not match.
 */
export function holds(condition: Condition, data: Data): boolean {
  return isMet(condition, data, { left: matchStepsMax });
}

function isMet(condition: Condition, data: Data, steps: Steps): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.of.every(each => isMet(each, data, steps));
    case 'any':
      return condition.of.some(each => isMet(each, data, steps));
    case 'not':
      return !isMet(condition.of, data, steps);
    case 'test':
      return isMetBy(data.view(condition.path) ?? null, condition, steps);
  }
}

function matches(source: string, text: string, steps: Steps): boolean {
  const pattern = patternOf(source);
  const needed = pattern.steps(text);
  if (needed > steps.left) return false;
  steps.left -= needed;
  return pattern.test(text);
}

/** Whether the evaluation may take long, because the condition has a pattern. */
export function isLong(condition: Condition): boolean {
  switch (condition.kind) {
    case 'all':
    case 'any':
      return condition.of.some(isLong);
    case 'not':
      return isLong(condition.of);
    case 'test':
      return condition.op === 'regex';
  }
}

type Test = Extract<Condition, { readonly kind: 'test' }>;

function isMetBy(found: Json | LargeValue | LargeText, { op, value }: Test, steps: Steps): boolean {
  if (found instanceof LargeText) {
    const isMet = () => test(op, found.text, value, steps);
    // A pattern is matched again in each evaluation, because its match steps must be counted each time.
    return op === 'regex' ? isMet() : found.once(`${op} ${JSON.stringify(value)}`, isMet);
  }
  return found instanceof LargeValue ? testLarge(op, found, value) : test(op, found, value, steps);
}

/**
 * Tests a large list or map without decoding all of it: equality stops at the first difference, and `contains` reads element by
 * element or key by key.
 */
function testLarge(op: Operator, { bytes, some }: LargeValue, wanted: Json): boolean {
  const isEqual = (value: Json) => equalTo(value)(bytes, 0) >= 0;
  switch (op) {
    case 'exists':
      return wanted === true;
    case 'eq':
      return isEqual(wanted);
    case 'neq':
      return !isEqual(wanted);
    case 'in':
      return (wanted as readonly Json[]).some(isEqual);
    case 'contains': {
      if (listCount(bytes) < 0 && typeof wanted !== 'string') return false;
      const endOfEqual = equalTo(wanted);
      return some(`contains ${JSON.stringify(wanted)}`, at => endOfEqual(bytes, at) >= 0);
    }
    default:
      return false;
  }
}

/** Tests a decoded value. A missing path counts as null. Values of different types are never equal and have no order. */
function test(op: Operator, found: Json, wanted: Json, steps: Steps): boolean {
  switch (op) {
    case 'exists':
      return (found !== null) === wanted;
    case 'eq':
      return equal(found, wanted);
    case 'neq':
      return !equal(found, wanted);
    case 'in':
      return (wanted as readonly Json[]).some(each => equal(found, each));
    case 'gt':
      return compare(found, wanted) > 0;
    case 'gte':
      return compare(found, wanted) >= 0;
    case 'lt':
      return compare(found, wanted) < 0;
    case 'lte':
      return compare(found, wanted) <= 0;
    case 'contains':
      return contains(found, wanted);
    case 'startswith':
      return typeof found === 'string' && found.startsWith(wanted as string);
    case 'endswith':
      return typeof found === 'string' && found.endsWith(wanted as string);
    case 'regex':
      return typeof found === 'string' && matches(wanted as string, found, steps);
  }
}

/** Whether the value is a number. Integers in the 64-bit form of MessagePack are decoded as bigint. */
function isNumber(value: unknown): value is number {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Compares two values: negative, 0 or positive; NaN if the values have no order. Every comparison with NaN is false. */
function compare(a: Json, b: Json): number {
  const comparable = (isNumber(a) && isNumber(b)) || (typeof a === 'string' && typeof b === 'string');
  if (!comparable) return Number.NaN;
  return a < b ? -1 : a > b ? 1 : 0;
}

function equal(a: Json, b: Json): boolean {
  // A bigint and a number are never ===, but they can be compared.
  if (isNumber(a) && isNumber(b)) return compare(a, b) === 0;
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((each, i) => equal(each, b[i]!));
  }
  const [left, right] = [a, b] as { readonly [key: string]: Json }[];
  const keys = Object.keys(left!);
  if (keys.length !== Object.keys(right!).length) return false;
  return keys.every(key => Object.hasOwn(right!, key) && equal(left![key]!, right![key]!));
}

/** Whether a text contains the wanted text, a list the wanted element, or a map the wanted key. */
function contains(found: Json, wanted: Json): boolean {
  if (typeof found === 'string') return typeof wanted === 'string' && found.includes(wanted);
  if (Array.isArray(found)) return found.some(each => equal(each, wanted));
  return typeof found === 'object' && found !== null && typeof wanted === 'string' && Object.hasOwn(found, wanted);
}

/** The maximum number of cached patterns. */
const patternsMax = 256;
const patterns = new Map<string, Pattern>();

function patternOf(source: string): Pattern {
  let pattern = patterns.get(source);
  if (pattern === undefined) {
    if (patterns.size >= patternsMax) patterns.delete(patterns.keys().next().value!);
    pattern = compilePattern(source);
    patterns.set(source, pattern);
  }
  return pattern;
}
