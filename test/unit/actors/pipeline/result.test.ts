// The result of a run: a list if its definition ends with several tokens, however many there are.
import { describe, expect, it } from 'vitest';
import { stage } from './cast.ts';
import { resultOf } from './stage.ts';

const each = { uses: 'double', foreach: 'payload.list' };
const echo = { uses: 'echo' };
const never = { path: 'payload.none', op: 'exists', value: true };

describe('the value of a run', () => {
  it.each<[string, object[], object[]]>([
    ['a fan-out', [each], [[], [2], [2, 4]]],
    ['a fan-out, and a step for each of its chains', [each, { uses: 'text' }], [[], ['words'], ['words', 'words']]],
    ['a fan-out in a nested sequence', [{ steps: [echo, each] }], [[], [2], [2, 4]]],
    [
      'a fan-out behind the join of another',
      [each, { ...each, foreach: 'payload.results', join: 'all' }],
      [[], [4], [4, 8]],
    ],
    ['a fan-out that is passed over', [{ ...each, if: never }], [[null], [null], [null]]],
    ['a split', [{ split: [[{ uses: 'text' }]] }], [['words'], ['words'], ['words']]],
    [
      'a split whose branches join within',
      [{ split: [[each, { uses: 'text', join: 'all' }]] }],
      [['words'], ['words'], ['words']],
    ],
    [
      'a split that is passed over',
      [{ uses: 'text' }, { split: [[echo], [echo]], if: never }],
      [['words'], ['words'], ['words']],
    ],
  ])('is a list behind %s', (_, steps, expected) => {
    const found = [[], [1], [1, 2]].map(list => resultOf(stage(steps).run('p', { list })));
    expect(found).toEqual(expected);
  });

  it.each<[string, object[]]>([
    ['no fork', [{ uses: 'text' }]],
    ['a fan-out and its join', [each, { uses: 'text', join: 'all' }]],
    ['a fan-out and a join that is passed over', [each, { uses: 'text' }, { uses: 'fail', join: 'all', if: never }]],
    ['a split and its join', [{ split: [[echo], [each]] }, { uses: 'text', join: 'all' }]],
    ['a nested sequence that joins within', [{ steps: [each, { uses: 'text', join: 'all' }] }]],
  ])('is the value itself behind %s', (name, steps) => {
    const found = [[], [1], [1, 2]].map(list => resultOf(stage(steps).run('p', { list })));
    expect(found.map(value => Array.isArray(value))).toEqual([false, false, false]);
    if (!name.includes('passed over')) expect(found).toEqual(['words', 'words', 'words']);
  });

  it('is a list behind events only where a job emitted several; an event that was taken before leaves null', () => {
    const event = { type: 'seen', payload: {}, dedupe_key: 'k' };
    const s = stage([{ uses: 'emit' }, { uses: 'text' }]);
    const of = (events: object[]) => resultOf(s.run('p', { events } as never));
    expect(of([{ type: 'a' }])).toBe('words');
    expect(of([{ type: 'a' }, { type: 'b' }])).toEqual(['words', 'words']);
    expect([of([event]), of([event])]).toEqual(['words', null]);
  });
});
