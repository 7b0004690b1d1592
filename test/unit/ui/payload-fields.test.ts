// The fields of a payload: made of a schema, put together as text, and taken apart again.
import { describe, expect, test } from 'vitest';
import { rawMember, withMember } from '../../../ui/core/raw-json.ts';
import {
  assemble,
  bigInteger,
  errorsByField,
  fieldsOf,
  fieldsOfText,
  payloadProblem,
} from '../../../ui/parts/run/payload-fields.ts';

const schema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', description: 'Whom to greet.' },
    language: { enum: ['en', 'de', 7] },
    loud: { type: 'boolean' },
    size: { type: 'number' },
    friends: { type: 'array' },
    note: { type: 'string', maxLength: 5000 },
  },
};
const fields = fieldsOf(schema)!;

describe('fields', () => {
  test('have the kind of their schema', () => {
    expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
      ['name', 'text'],
      ['language', 'choice'],
      ['loud', 'truth'],
      ['size', 'number'],
      ['friends', 'json'],
      ['note', 'text'],
    ]);
    expect(fields[0]).toMatchObject({ isRequired: true, description: 'Whom to greet.', isLong: false });
    expect(fields[1]!.choices).toEqual(['"en"', '"de"', '7']);
    expect(fields[5]!.isLong).toBe(true);
  });

  test.each([[undefined], [{}], [{ anyOf: [] }], [{ properties: null }]])('cannot be made of %j', without => {
    expect(fieldsOf(without)).toBe(null);
  });
});

describe('a payload', () => {
  test('leaves out empty fields, and keeps the digits of numbers', () => {
    const made = assemble(fields, { name: 'a "b"', size: ' 12345678901234567890.10 ', friends: '', loud: 'true' });
    expect(made).toEqual({
      ok: true,
      text: '{\n  "name": "a \\"b\\"",\n  "loud": true,\n  "size": 12345678901234567890.10\n}',
    });
  });

  test('without members is an empty object', () => {
    expect(assemble([], {})).toEqual({ ok: true, text: '{}' });
  });

  test.each([
    [{}, { name: 'is required' }],
    [{ name: 'a', size: '1,5' }, { size: 'must be a number, such as 12 or 0.5' }],
    [{ name: 'a', size: '0x10' }, { size: 'must be a number, such as 12 or 0.5' }],
    [{ name: 'a', friends: '["b"' }, { friends: expect.stringMatching(/^is not JSON: /) }],
    [{ name: 'a', size: '9007199254740993' }, { size: expect.stringContaining('9007199254740993') }],
  ])('is refused: %j', (values, errors) => {
    expect(assemble(fields, values)).toEqual({ ok: false, errors });
  });
});

describe('the text of a payload', () => {
  test('has a problem if an integer is beyond the limit of the API, which it names with the limit', () => {
    expect(bigInteger('{"text":"12345678901234567890","n":9007199254740991}')).toBeNull();
    expect(payloadProblem('{"n":12345678901234567890}')).toContain('12345678901234567890');
    // 2^53, which a number holds exactly.
    expect(payloadProblem('{"n":9007199254740992}')).toContain('9007199254740992, which is beyond ±9007199254740991');
  });

  test.each(['', '[1]', 'null', '{"a":', '3'])('has a problem if it is no object: %j', text => {
    expect(payloadProblem(text)).not.toBeNull();
  });

  test('keeps its digits in the body of a call', () => {
    const payload = '{"a": [1.0, 2.50]}';
    expect(payloadProblem(payload)).toBeNull();
    expect(withMember({ delay: '1h' }, 'payload', payload)).toBe(`{"payload":${payload},"delay":"1h"}`);
    expect(withMember({}, 'payload', payload)).toBe(`{"payload":${payload}}`);
  });
});

describe('an edited text', () => {
  test('becomes fields again, with the digits as they were, and members that the schema lacks as JSON', () => {
    const found = fieldsOfText(fields, '{"size":1.50,"name":"b","language":7,"more":{"n":1e3}}', rawMember)!;
    expect(found.values).toEqual({ size: '1.50', name: 'b', language: '7', more: '{"n":1e3}' });
    expect(found.fields.at(-1)).toMatchObject({ name: 'more', kind: 'json', isRequired: false });
  });

  test('becomes the same payload again, with its empty texts', () => {
    const text = '{\n  "name": "",\n  "language": "en",\n  "size": 1.50,\n  "note": "",\n  "more": 2.0\n}';
    const found = fieldsOfText(fields, text, rawMember)!;
    expect(assemble(found.fields, found.values)).toEqual({ ok: true, text });
  });

  test('has the choice of its field, however it is written', () => {
    expect(fieldsOfText(fields, '{"language":7.0}', rawMember)!.values).toEqual({ language: '7' });
  });

  test('is edited as JSON where a value does not fit its field', () => {
    const found = fieldsOfText(fields, '{"name":5,"loud":"yes"}', rawMember)!;
    expect(found.fields.filter(({ kind }) => kind === 'json').map(({ name }) => name)).toEqual([
      'name',
      'loud',
      'friends',
    ]);
    expect(found.values).toEqual({ name: '5', loud: '"yes"' });
  });

  test.each([
    ['a\nb', 'text'],
    ['a\r\nb', 'json'],
    ['a\rb', 'json'],
  ])('keeps the line breaks of %j, in a field that may have several lines', (name, kind) => {
    const text = `{\n  "name": ${JSON.stringify(name)}\n}`;
    const found = fieldsOfText(fields, text, rawMember)!;
    expect(found.fields[0]).toMatchObject({ kind, isLong: kind === 'text' });
    expect(assemble(found.fields, found.values)).toEqual({ ok: true, text });
  });

  test.each(['[1]', 'null', '{', '"a"'])('is no payload: %s', text => {
    expect(fieldsOfText(fields, text, rawMember)).toBe(null);
  });
});

describe('errors of the service', () => {
  test('belong to the fields at their pointers', () => {
    const errors = [
      { pointer: '/payload/friends/1', message: 'must be string' },
      { pointer: '/payload/friends/2', message: 'must be string' },
      { pointer: '/payload/a~1b', message: 'must be integer' },
      { pointer: '/payload', message: 'must have the property name' },
    ];
    expect(errorsByField(errors, '')).toEqual({
      friends: '1 must be string; 2 must be string',
      'a/b': 'must be integer',
    });
  });

  test('are read from the detail if there is a single one', () => {
    expect(errorsByField([], '/payload/size must be <= 5')).toEqual({ size: 'must be <= 5' });
    expect(errorsByField([], 'the body is no object')).toEqual({});
  });
});
