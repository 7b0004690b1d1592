// Strict JSON: everything that JSON.parse takes and that is safe comes out equal; the rest is refused, never thrown.

import { describe, expect, test } from 'vitest';
import { jsonDepthMax, readJson } from '../../../http/json.ts';
import { cyclesOf } from '../../support/deep.ts';
import { fc } from '../../support/seed.ts';

const bytes = (text: string) => Buffer.from(text);
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const nestedObjects = (depth: number) => `${'{"a":'.repeat(depth)}null${'}'.repeat(depth)}`;

const accepted: readonly string[] = [
  '{}',
  ' \t\r\n{ } ',
  '[]',
  'null',
  '-0.5e+10',
  '[1e308,-1.7976931348623157e308,1e-999]',
  `1${'0'.repeat(308)}.0`,
  '[9007199254740991,-9007199254740991,9007199254740993.0,12345678901234567890e0,"12345678901234567890"]',
  '"\\u0041\\n\\ud83d\\ude00\\uD83D\\uDE00\\ud7ff\\ue000"',
  '{"a":{"a":{"a":1}},"b":{"a":1}}',
  '[{"a":1},{"a":2}]',
  '{"":1," ":2}',
  '{"a":1,"A":2,"á":3}',
  '{"proto":1,"_proto_":2}',
  '"__proto__"',
  nested(jsonDepthMax),
  nestedObjects(jsonDepthMax),
  '"é😀"',
];

const refused: readonly (readonly [text: string, message: RegExp])[] = [
  ['', /empty/],
  ['   ', /empty at byte 3/],
  ['{', /key in quotes.* at byte 1/],
  ['{"a"}', /":" was expected at byte 4/],
  ['{"a":1,}', /key in quotes/],
  ['[1,]', /a value/],
  ['[1 2]', /"," or "\]" was expected at byte 3/],
  ['{"a":1]', /"," or "}"/],
  ['{}{}', /more after the JSON document at byte 2/],
  ['{} x', /more after/],
  ['1 2', /more after/],
  ['{"a":1,"a":2}', /"a" occurs twice at byte 7/],
  ['{"a":1,"\\u0061":2}', /twice/],
  ['{"b":{"a":1,"a":2}}', /twice at byte 12/],
  ['{"a":{"b":1},"a":2}', /twice/],
  ['{"__proto__":1}', /"__proto__" is not allowed at byte 1/],
  ['{"\\u005f_proto__":1}', /not allowed/],
  ['[{"x":{"__proto__":{}}}]', /not allowed/],
  [nested(jsonDepthMax + 1), /deeper than 64 at byte 64/],
  [nestedObjects(jsonDepthMax + 1), /deeper than 64/],
  ['['.repeat(500_000), /deeper/],
  ['01', /more after/],
  ['1.', /more after/],
  ['.5', /a value/],
  ['+1', /a value/],
  ['-', /a value/],
  ['1e', /more after/],
  ['1e999', /the number at "" is too large: .* at byte 0$/],
  [`-1${'0'.repeat(309)}.5`, /too large/],
  [
    '9007199254740992',
    /the integer at "" is beyond ±9007199254740991 and would be rounded; send it as a string at byte 0$/,
  ],
  ['{"a":[0,{"b/c":-9007199254740993}]}', /the integer at "\/a\/1\/b~1c" is beyond/],
  [`1${'0'.repeat(400)}`, /the integer at "" is beyond/],
  [
    '{"z":"a:,[{","payload":{"a/b":[{},{"c":["\\"",1],"x":[[-1e400]]}]}}',
    /the number at "\/payload\/a~1b\/1\/x\/0\/0" is too large/,
  ],
  ['NaN', /a value/],
  ['nul', /a value/],
  ['True', /a value/],
  ["{'a':1}", /key in quotes/],
  ['"a', /ends inside a string/],
  ['"\\x"', /unknown escape/],
  ['"\\u12g4"', /\\u escape/],
  ['"\\ud83dx"', /half of a surrogate pair in a string at byte 0$/],
  ['"\\ud83d\\ud83d\\ude00"', /half of a surrogate/],
  ['"\\ude00\\ud83d"', /half of a surrogate/],
  ['"\\ud83d\\u12g4"', /\\u escape.* at byte 7$/],
  ['{"\\uDE00":1}', /half of a surrogate/],
  ['"a\nb"', /control character/],
  ['{"a\tb":1}', /control character/],
  ['\ufeff{}', /a value/],
  ['// c\n{}', /a value/],
];

describe('readJson', () => {
  test.each(accepted)('takes %s', text => {
    expect(readJson(bytes(text))).toEqual({ kind: 'value', value: JSON.parse(text) });
  });

  test.each(refused)('refuses %s', (text, message) => {
    expect(readJson(bytes(text))).toMatchObject({ kind: 'refused', message: expect.stringMatching(message) });
  });

  test('points at a number that it refuses', () => {
    const text = '{"a":[1,{"b":9007199254740993}]}';
    expect(readJson(bytes(text))).toMatchObject({ kind: 'refused', pointer: '/a/1/b' });
    expect(readJson(bytes('{"a":1e999}'))).toMatchObject({ kind: 'refused', pointer: '/a' });
    expect(readJson(bytes('{"a":01}'))).not.toHaveProperty('pointer');
  });

  test('reads large integers as text where it may, and nothing else of the document differently', () => {
    const digits = `-${'9'.repeat(400)}`;
    const text = `{"a":[9007199254740991,9007199254740992,${digits}],"b":"\\" 9007199254740993","9007199254740993":1e30,"c":-9007199254740993.0}`;
    const value = {
      a: [9007199254740991, '9007199254740992', digits],
      b: '" 9007199254740993',
      '9007199254740993': 1e30,
      c: -9007199254740992,
    };
    expect(readJson(bytes(text), 'text')).toEqual({ kind: 'value', value });
    expect(readJson(bytes(text)).kind).toBe('refused');
    expect(readJson(bytes('{"a":1}{9007199254740993'), 'text').kind).toBe('refused');
  });

  test('refuses what is not UTF-8', () => {
    for (const bad of [[0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0xe2]]) {
      expect(readJson(Buffer.from(bad))).toEqual({ kind: 'refused', message: expect.stringContaining('UTF-8') });
    }
  });

  test('finds a repeated key among very many, at the end too', () => {
    const keys = Array.from({ length: 20_000 }, (_, n) => `"key-${n}":${n}`);
    expect(readJson(bytes(`{${keys.join(',')}}`)).kind).toBe('value');
    expect(readJson(bytes(`{${keys.join(',')},"key-19999":0}`)).kind).toBe('refused');
    expect(readJson(bytes(`{${keys.slice(0, 17).join(',')},"key-0":0}`)).kind).toBe('refused');
  });

  test('many numbers below a long key are read in linear time', () => {
    // A pointer for each number would take minutes.
    const text = `{"${'k'.repeat(500_000)}":[${'1,'.repeat(250_000)}]}`;
    expect(readJson(bytes(text))).toMatchObject({ kind: 'refused', message: expect.stringContaining('a value') });
  });

  const atMost64Deep = (value: unknown, depth = 0): boolean =>
    depth <= jsonDepthMax &&
    (typeof value !== 'object' || value === null || Object.values(value).every(v => atMost64Deep(v, depth + 1)));

  test('any document with unique keys comes out as JSON.parse gives it', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 10, noUnicodeString: false } as object), fc.nat(3), (text, indent) => {
        const value = JSON.parse(text) as unknown;
        fc.pre(atMost64Deep(value) && !text.includes('__proto__'));
        const written = JSON.stringify(value, null, indent);
        // JSON.stringify writes a double such as 1e20 as an integer that is beyond 2^53.
        fc.pre(!/\d{16}/.test(written));
        const reading = readJson(bytes(written));
        expect(reading).toEqual({ kind: 'value', value });
      }),
      { numRuns: cyclesOf({ deep: 2_000, quick: 300 }) },
    );
  });

  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '"b"',
    '"\\u0061"',
    '\\',
    '1',
    '-',
    '0',
    '.',
    'e',
    ' ',
    'true',
    'null',
    '\n',
    'é',
    '\u0000',
  ];
  test('any text is refused where JSON.parse refuses it, and never throws', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 14 }), parts => {
        const text = parts.join('');
        let value: unknown;
        let isJson = true;
        try {
          value = JSON.parse(text);
        } catch {
          isJson = false;
        }
        const reading = readJson(bytes(text));
        if (reading.kind === 'value') expect([isJson, reading.value]).toEqual([true, value]);
        else if (isJson) expect(reading.message).toMatch(/twice/);
      }),
      { numRuns: cyclesOf({ deep: 20_000, quick: 1_500 }) },
    );
  });

  test('any bytes are refused or read, and never throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), raw => void readJson(raw)),
      { numRuns: cyclesOf({ deep: 5_000, quick: 500 }) },
    );
  });
});
