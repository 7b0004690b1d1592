// Evaluates conditions: inline, without a job, in time linear in the data.
import type { Condition, Operator } from '../../config/pipeline/definition.ts';
import { endOfEqual } from '../../runtime/packed-steps.ts';
import type { Json } from '../../runtime/packing.ts';
import { compilePattern, matchStepsMax, type Pattern } from '../../runtime/pattern.ts';
import { listCount } from '../../runtime/splice.ts';
import { type Data, LargeValue } from './lookup.ts';

/** What the patterns of one condition may still take. */
type Steps = { left: number };

/** Patterns have `matchStepsMax` steps together. One that would need more than are left does not match. */
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

/** Whether a look at it may take long: whatever the data is, the other operators are quick. */
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

function isMetBy(found: Json | LargeValue, { op, value }: Extract<Condition, { readonly kind: 'test' }>, steps: Steps) {
  return found instanceof LargeValue ? testLarge(op, found, value) : test(op, found, value, steps);
}

/** Of a list or map that is not decoded: read no further than what is wanted is long, or element by element. */
function testLarge(op: Operator, { bytes, some }: LargeValue, wanted: Json): boolean {
  const isEqual = (value: Json) => endOfEqual(bytes, 0, value) >= 0;
  switch (op) {
    case 'exists':
      return wanted === true;
    case 'eq':
      return isEqual(wanted);
    case 'neq':
      return !isEqual(wanted);
    case 'in':
      return (wanted as readonly Json[]).some(isEqual);
    case 'contains':
      if (listCount(bytes) < 0 && typeof wanted !== 'string') return false;
      return some(`contains ${JSON.stringify(wanted)}`, at => endOfEqual(bytes, at, wanted) >= 0);
    default:
      return false;
  }
}

/** A missing path is null. Values of different kinds are never equal, and have no order. */
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

/** Whole numbers that do not fit a double are decoded as bigint. */
function isNumber(value: unknown): value is number {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Negative, 0 or positive; NaN, of which no comparison holds, when there is no order between the two. */
function compare(a: Json, b: Json): number {
  const comparable = (isNumber(a) && isNumber(b)) || (typeof a === 'string' && typeof b === 'string');
  if (!comparable) return Number.NaN;
  return a < b ? -1 : a > b ? 1 : 0;
}

export function equal(a: Json, b: Json): boolean {
  // A bigint and a number are never ===, but their order can be told.
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

/** Text in a text, an element in a list, a key in a map. */
function contains(found: Json, wanted: Json): boolean {
  if (typeof found === 'string') return typeof wanted === 'string' && found.includes(wanted);
  if (Array.isArray(found)) return found.some(each => equal(each, wanted));
  return typeof found === 'object' && found !== null && typeof wanted === 'string' && Object.hasOwn(found, wanted);
}

/** Compiled patterns that are kept; the configuration seldom has more. */
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
