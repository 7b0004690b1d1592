// Reads conditions: `{path, op, value}`, and `all`, `any`, `not` of conditions. The schema checks their shape; paths and operands are
// checked here.
import { isObject } from '../../runtime/json-value.ts';
import type { Json } from '../../runtime/packing.ts';
import { patternProblem } from '../../runtime/pattern.ts';
import type { ReportAt } from '../check/problem.ts';
import type { NodePath } from '../source/tree.ts';
import { type Condition, type Operator, operators } from './definition.ts';
import { type PathRoot, readPath } from './path.ts';

/**
 * The parsed condition; null if it is missing or cannot be parsed. If an operand is wrong, the problem is reported, and
 * the condition is still returned.
 */
export function readCondition(
  value: unknown,
  roots: readonly PathRoot[],
  at: NodePath,
  reportAt: ReportAt,
): Condition | null {
  if (!isObject(value)) return null;
  const inner = (item: unknown, ...keys: NodePath) => readCondition(item, roots, [...at, ...keys], reportAt);
  for (const kind of ['all', 'any'] as const) {
    const list = value[kind];
    if (!Array.isArray(list)) continue;
    return { kind, of: list.map((item, i) => inner(item, kind, i)).filter(condition => condition !== null) };
  }
  if (value['not'] !== undefined) {
    const of = inner(value['not'], 'not');
    return of && { kind: 'not', of };
  }
  const path = readPath(value['path'], roots, [...at, 'path'], reportAt);
  const op = operators.find(name => name === value['op']);
  if (op === undefined) return null;
  if (op !== 'exists' && !Object.hasOwn(value, 'value')) {
    reportAt(at, `"${op}" needs a "value"`);
    return null;
  }
  const operand = (Object.hasOwn(value, 'value') ? value['value'] : true) as Json;
  const wanted = operandProblem(op, operand);
  if (wanted !== undefined) reportAt([...at, 'value'], wanted);
  return path && { kind: 'test', path, op, value: operand };
}

/** The problem with an operator's operand; undefined: the operand is valid. */
function operandProblem(op: Operator, value: Json): string | undefined {
  switch (op) {
    case 'exists':
      return typeof value === 'boolean' ? undefined : '"exists" takes true or false';
    case 'in':
      return Array.isArray(value) ? undefined : '"in" takes a list of values';
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return typeof value === 'number' || typeof value === 'string' ? undefined : `"${op}" takes a number or text`;
    case 'startswith':
    case 'endswith':
      return typeof value === 'string' ? undefined : `"${op}" takes text`;
    case 'regex': {
      if (typeof value !== 'string') return '"regex" takes a pattern';
      const wrong = patternProblem(value);
      return wrong === undefined ? undefined : `is not a pattern in RE2 syntax: ${wrong}`;
    }
    case 'eq':
    case 'neq':
    case 'contains':
      return undefined;
  }
}
