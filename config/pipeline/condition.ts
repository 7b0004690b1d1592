// Conditions: `{path, op, value}`, and `all`, `any`, `not` of conditions, checked and taken apart at load.
import { isObject } from '../../runtime/json-value.ts';
import type { Json } from '../../runtime/packing.ts';
import { patternProblem } from '../../runtime/pattern.ts';
import { type Condition, type Operator, operators } from './definition.ts';
import { checkPath, type PathRoot } from './path.ts';
import { alternatives, describe, inside, type Place, type PlainMap, report } from './problems.ts';
import { didYouMean } from './suggestion.ts';

const depthMax = 32;
const testKeys = ['path', 'op', 'value'];
const forms = [...testKeys, 'all', 'any', 'not'];

export function checkCondition(value: unknown, roots: readonly PathRoot[], place: Place, depth = 0): Condition | null {
  if (depth > depthMax) {
    report(place, `conditions nested deeper than ${depthMax}`);
    return null;
  }
  if (!isObject(value)) {
    report(place, `must be a condition: {path, op, value}, or all, any or not of conditions, not ${describe(value)}`);
    return null;
  }
  const known = checkKeys(value, place);
  for (const kind of ['all', 'any'] as const) {
    if (!Object.hasOwn(value, kind)) continue;
    alone(value, kind, place);
    return checkList(kind, value[kind], roots, inside(place, kind), depth);
  }
  if (Object.hasOwn(value, 'not')) {
    alone(value, 'not', place);
    const of = checkCondition(value['not'], roots, inside(place, 'not'), depth + 1);
    return of === null ? null : { kind: 'not', of };
  }
  return checkTest(value, roots, place, known);
}

function checkKeys(value: PlainMap, place: Place): boolean {
  const unknown = Object.keys(value).filter(key => !forms.includes(key));
  for (const key of unknown) {
    report(inside(place, key), `a condition has no key ${describe(key)}${didYouMean(key, forms)}`, 'key');
  }
  return unknown.length === 0;
}

function alone(value: PlainMap, kind: string, place: Place): void {
  const others = Object.keys(value).filter(key => key !== kind && forms.includes(key));
  if (others.length > 0)
    report(place, `"${kind}" stands alone: put ${alternatives(others)} into a condition of its own`);
}

function checkList(
  kind: 'all' | 'any',
  value: unknown,
  roots: readonly PathRoot[],
  place: Place,
  depth: number,
): Condition | null {
  if (!Array.isArray(value) || value.length === 0) {
    report(
      place,
      `must be a list of at least one condition, not ${Array.isArray(value) ? 'an empty list' : describe(value)}`,
    );
    return null;
  }
  const of = value.map((item, i) => checkCondition(item, roots, inside(place, i), depth + 1));
  return of.includes(null) ? null : { kind, of: of as Condition[] };
}

/** `known`: no key is misspelt, so that a missing one is really missing. */
function checkTest(value: PlainMap, roots: readonly PathRoot[], place: Place, known: boolean): Condition | null {
  const has = (key: string) => Object.hasOwn(value, key);
  if (!has('path') && known) report(place, 'a condition needs a "path"');
  if (!has('op') && known) report(place, 'a condition needs an "op"');
  const path = has('path') ? checkPath(value['path'], roots, inside(place, 'path')) : null;
  const op = has('op') ? checkOperator(value['op'], inside(place, 'op')) : null;
  if (op === null) return null;
  if (op !== 'exists' && !has('value')) {
    if (known) report(place, `"${op}" needs a "value"`);
    return null;
  }
  const operand = (value['value'] ?? (op === 'exists' && !has('value') ? true : null)) as Json;
  const wrong = operandProblem(op, operand);
  if (wrong !== undefined) report(inside(place, 'value'), wrong);
  return path === null || wrong !== undefined ? null : { kind: 'test', path, op, value: operand };
}

function checkOperator(value: unknown, place: Place): Operator | null {
  if (typeof value === 'string' && (operators as readonly string[]).includes(value)) return value as Operator;
  const meant = typeof value === 'string' ? didYouMean(value, operators) : '';
  report(place, `no operator ${describe(value)}${meant || `; there are ${operators.join(', ')}`}`);
  return null;
}

/** What each operator can be asked with. */
function operandProblem(op: Operator, value: Json): string | undefined {
  switch (op) {
    case 'exists':
      return typeof value === 'boolean' ? undefined : `"exists" takes true or false, not ${describe(value)}`;
    case 'in':
      return Array.isArray(value) ? undefined : `"in" takes a list of values, not ${describe(value)}`;
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      if (typeof value === 'number' || typeof value === 'string') return undefined;
      return `"${op}" takes a number or text, not ${describe(value)}`;
    case 'startswith':
    case 'endswith':
      return typeof value === 'string' ? undefined : `"${op}" takes text, not ${describe(value)}`;
    case 'regex': {
      if (typeof value !== 'string') return `"regex" takes a pattern, not ${describe(value)}`;
      const wrong = patternProblem(value);
      return wrong === undefined ? undefined : `not a pattern in RE2 syntax: ${wrong}`;
    }
    case 'eq':
    case 'neq':
    case 'contains':
      return undefined;
  }
}
