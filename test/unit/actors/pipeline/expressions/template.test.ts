// Templates by table: what is written in `with`, and what becomes of it.
import { describe, expect, it } from 'vitest';
import { dataOfValues } from '../../../../../actors/pipeline/expressions/lookup.ts';
import {
  type Bound,
  bindTemplate,
  isOfElement,
  isPerElementTemplate,
  Missing,
  render,
} from '../../../../../actors/pipeline/expressions/template.ts';
import type { Path, Template } from '../../../../../config/pipeline/definition.ts';
import { readTemplates } from '../../../../../config/pipeline/template.ts';
import type { Json } from '../../../../../runtime/packing.ts';

function parse(written: unknown): Template {
  const [entry] = readTemplates({ a: written }, [], () => {});
  return entry![1];
}

const data = dataOfValues({
  payload: { n: 5, text: 'x', list: [1, { b: 2 }], nil: null, flag: false },
  context: { user: { name: 'ann' } },
});

const table: [unknown, Json][] = [
  ['plain', 'plain'],
  ['', ''],
  [3, 3],
  [null, null],
  ['{payload.n}', 5],
  ['{ payload.n }', 5],
  ['{payload.list}', [1, { b: 2 }]],
  ['{payload.list.1.b}', 2],
  ['{payload.nil}', null],
  ['{payload.flag}', false],
  ['{context.user.name}', 'ann'],
  ['n={payload.n}', 'n=5'],
  ['{payload.n}{payload.text}', '5x'],
  ['{payload.list}!', '[1,{"b":2}]!'],
  ['{payload.nil}!', 'null!'],
  ['{{payload.n}}', '{payload.n}'],
  ['{{{payload.n}}}', '{5}'],
  ['}}{{', '}{'],
  [
    ['{payload.n}', { x: '{payload.text}', y: 1 }],
    [5, { x: 'x', y: 1 }],
  ],
];

describe('a template', () => {
  it.each(table)('%j becomes %j', (written, becomes) => {
    expect(render(parse(written), data)).toEqual(becomes);
  });

  it.each(['{payload.x}', 'a {payload.x}', ['{payload.x}'], { b: { c: '{payload.x}' } }])(
    '%j names the path that is missing',
    written => {
      const value = render(parse(written), data);
      expect(value instanceof Missing && value.missing).toBe('payload.x');
    },
  );

  it('that needs the element of a fan-out is bound to all else before', () => {
    const template = parse(['{payload.item.a}-{payload.n}', '{payload.n}', { i: '{payload.index}' }]);
    expect(isPerElementTemplate(template)).toBe(true);
    const known = (path: Path): Bound => ({ kind: 'literal', value: data.value(path)! });
    const bound = bindTemplate(template, data, isOfElement, known);
    if (bound instanceof Missing) throw new Error('missing');
    expect(render(bound, dataOfValues({ payload: { item: { a: 'A' }, index: 7 } }))).toEqual(['A-5', 5, { i: 7 }]);
    expect(bindTemplate(parse('{payload.item}{payload.x}'), data, isOfElement, known)).toBeInstanceOf(Missing);
  });
});
