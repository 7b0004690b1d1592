// Conditions by table: operator, what the path finds, what it is compared with, and whether it holds.
import { describe, expect, it } from 'vitest';
import { holds } from '../../../../../actors/pipeline/expressions/condition.ts';
import { unlimited } from '../../../../../actors/pipeline/expressions/evaluations.ts';
import { dataOfValues } from '../../../../../actors/pipeline/expressions/lookup.ts';
import { dataOf, Packed } from '../../../../../actors/pipeline/tokens/token.ts';
import type { Condition, Operator } from '../../../../../config/pipeline/definition.ts';
import { type Json, pack, unpack } from '../../../../../runtime/packing.ts';

const missing = Symbol('missing');
const test = (op: Operator, value: Json, ...keys: string[]): Condition => ({
  kind: 'test',
  path: { root: 'payload', keys },
  op,
  value,
});

const table: [Operator, Json | bigint | typeof missing, Json, boolean][] = [
  ['exists', 0, true, true],
  ['exists', '', true, true],
  ['exists', missing, true, false],
  ['exists', null, true, false],
  ['exists', missing, false, true],
  ['exists', 1, false, false],
  ['eq', 1, 1, true],
  ['eq', 1, 1.0, true],
  ['eq', '1', 1, false],
  ['eq', 2n ** 60n, 2 ** 60, true],
  ['eq', missing, null, true],
  ['eq', { a: [1, { b: null }] }, { a: [1, { b: null }] }, true],
  ['eq', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ['eq', [1, 2], [2, 1], false],
  ['eq', [], {}, false],
  ['eq', false, 0, false],
  ['neq', missing, 1, true],
  ['neq', 1, 1, false],
  ['in', 2, [1, 2], true],
  ['in', '2', [1, 2], false],
  ['in', missing, [null], true],
  ['gt', 2, 1, true],
  ['gt', 10, 9, true],
  ['gt', '10', '9', false],
  ['gt', '10', 9, false],
  ['lt', '10', 11, false],
  ['gt', 'b', 'a', true],
  ['gt', 2n ** 60n, 5, true],
  ['gt', missing, -1, false],
  ['gt', true, 0, false],
  ['gte', 1, 1, true],
  ['gte', 0.5, 1, false],
  ['lt', missing, 1, false],
  ['lt', -1, 0, true],
  ['lte', 1, 1, true],
  ['lte', '2026-01-01', '2026-01-02', true],
  ['contains', 'abc', 'b', true],
  ['contains', 'abc', 1, false],
  ['contains', [1, { a: 1 }], { a: 1 }, true],
  ['contains', { a: 1 }, 'a', true],
  ['contains', { a: 1 }, 'toString', false],
  ['contains', missing, 'a', false],
  ['startswith', 'abc', 'ab', true],
  ['startswith', ['ab'], 'ab', false],
  ['endswith', 'abc', 'bc', true],
  ['endswith', missing, '', false],
  ['regex', 'release-12', '^release-\\d+$', true],
  ['regex', 'xreleasex', 'release', true],
  ['regex', 'x', '^$', false],
  ['regex', 12, '12', false],
];

describe('a condition', () => {
  it.each(table)('%s: %s against %s holds: %s', (op, found, wanted, expected) => {
    const payload = found === missing ? {} : unpack(pack({ a: found }));
    expect(holds(test(op, wanted, 'a'), dataOfValues({ payload }))).toBe(expected);
    const large = new Packed(pack(payload), { ...unlimited, wholeBytesMax: 0, stepBytes: 1 });
    expect(holds(test(op, wanted, 'a'), dataOf({ payload: large, context: large }, null))).toBe(expected);
  });

  it('finds only what the data itself holds', () => {
    const data = dataOfValues({ payload: { list: [{ a: 1 }], text: 'abc' } });
    const exists = (...keys: string[]) => holds(test('exists', true, ...keys), data);
    expect([exists(), exists('list', '0', 'a')]).toEqual([true, true]);
    for (const keys of [['constructor'], ['list', 'length'], ['list', '00'], ['text', '0'], ['__proto__']]) {
      expect(exists(...keys)).toBe(false);
    }
  });

  it('puts conditions together with all, any and not', () => {
    const yes = test('exists', true, 'a');
    const no = test('exists', true, 'b');
    const data = dataOfValues({ payload: { a: 1 } });
    const of = (condition: Condition) => holds(condition, data);
    expect(of({ kind: 'all', of: [yes, yes] })).toBe(true);
    expect(of({ kind: 'all', of: [yes, no] })).toBe(false);
    expect(of({ kind: 'any', of: [no, yes] })).toBe(true);
    expect(of({ kind: 'any', of: [no, no] })).toBe(false);
    expect(of({ kind: 'not', of: no })).toBe(true);
  });

  it('runs a pattern in time linear in the text, whatever the pattern', () => {
    const data = dataOfValues({ payload: { a: `${'a'.repeat(50_000)}!` } });
    // A backtracking engine would practically never end.
    const held = ['(a+)+$', '(a|a)*$', '(a*)*b', '(.*a){20}$'].map(pattern => holds(test('regex', pattern, 'a'), data));
    expect(held).toEqual([false, true, false, false]);
  });

  it('matches no pattern with a text that is too long for it', () => {
    const of = (text: string) => holds(test('regex', 'a[ab]{0,300}c$', 'a'), dataOfValues({ payload: { a: text } }));
    expect(['aaac'.repeat(100), 'aaac'.repeat(500)].map(of)).toEqual([true, false]);
  });

  it('gives all of its patterns no more steps together than one could take', () => {
    const one = test('regex', 'a[ab]{0,300}c$', 'a');
    const data = dataOfValues({ payload: { a: 'aaac'.repeat(100) } });
    const all = (count: number) => holds({ kind: 'all', of: Array.from({ length: count }, () => one) }, data);
    expect([1, 2, 3].map(all)).toEqual([true, true, false]);
  });
});
