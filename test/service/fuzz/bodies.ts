// Bodies that no honest client sends.
import { fc } from '../../support/seed.ts';

/** The maximum size of a body that the gateway of the test accepts. */
export const bodyBytesMax = 65_536;

const nested = (open: string, close: string, depth: number) =>
  `{"payload":{"a":${open.repeat(depth)}1${close.repeat(depth)}}}`;
const long = (bytes: number) => `{"payload":{"text":"${'x'.repeat(bytes - 23)}"}}`;
const keys = Array.from({ length: 2_000 }, (_, n) => `"key ${n}":${n}`).join(',');

const texts = [
  ...[
    '',
    ' ',
    '\n\t\r ',
    '{',
    '}',
    '[',
    ']',
    '"',
    '"a',
    ',',
    ':',
    '{"payload"',
    '{"payload":',
    '{"payload":{',
    '{"payload":{}',
  ],
  ...['null', 'true', '0', '-0', '""', '[]', '[{}]', 'NaN', 'Infinity', 'undefined', "{'payload':{}}", '{payload:{}}'],
  ...[
    '{}{}',
    '{} {}',
    '{}x',
    '{},',
    '{"payload":{},}',
    '{"payload":{"a":[1,]}}',
    '/* */{}',
    '{}//',
    '\ufeff{}',
    '{}\0',
    '\0{}',
  ],
  ...[
    '{"payload":null}',
    '{"payload":[]}',
    '{"payload":"x"}',
    '{"payload":1}',
    '{"payload":{},"more":1}',
    '{"Payload":{}}',
  ],
  ...[
    '{"payload":{},"payload":{}}',
    '{"payload":{"a":1,"a":2}}',
    '{"payload":{"a":1,"\\u0061":2}}',
    '{"payload":{"":1,"":2}}',
  ],
  ...[
    '{"__proto__":{}}',
    '{"payload":{"__proto__":{"x":1}}}',
    '{"payload":{"\\u005f_proto__":1}}',
    '{"payload":{"constructor":{"prototype":{"x":1}}}}',
  ],
  ...[
    '{"payload":{"n":1e999}}',
    '{"payload":{"n":-1e999}}',
    '{"payload":{"n":1e-999}}',
    '{"payload":{"n":-0}}',
    '{"payload":{"n":01}}',
    '{"payload":{"n":1.}}',
  ],
  ...[
    '{"payload":{"n":9007199254740993}}',
    '{"payload":{"n":18446744073709551616}}',
    `{"payload":{"n":${'9'.repeat(5_000)}}}`,
    `{"payload":{"n":0.${'1'.repeat(5_000)}}}`,
  ],
  ...[
    '{"payload":{"s":"\\ud800"}}',
    '{"payload":{"\\udfff":1}}',
    '{"payload":{"s":"\\u0000"}}',
    '{"payload":{"s":"\\x"}}',
    '{"payload":{"s":"\\u12"}}',
    '{"payload":{"s":"\n"}}',
  ],
  ...[
    '{"payload":{"type":"x","payload":{},"event_id":"y"}}',
    '{"payload":{"toString":1,"valueOf":2,"then":3,"toJSON":4,"length":-1}}',
  ],
  ...[
    '{"payload":{"width":1e30}}',
    '{"payload":{"width":1.5}}',
    '{"payload":{"width":"1"}}',
    `{"payload":{"width":1,"name":"${'a'.repeat(30_000)}b"}}`,
  ],
  ...[
    nested('[', ']', 62),
    nested('[', ']', 63),
    nested('{"a":', '}', 61),
    nested('{"a":', '}', 63),
    nested('[', ']', 20_000),
  ],
  ...[
    '['.repeat(60_000),
    '{"a":'.repeat(12_000),
    `{"payload":{${keys}}}`,
    `{"payload":{${keys},"key 7":1}}`,
    `{"payload":{"${'k'.repeat(50_000)}":1}}`,
  ],
  ...[long(bodyBytesMax), long(bodyBytesMax + 1), long(bodyBytesMax + 5_000), `{"payload":{}${' '.repeat(60_000)}}`],
].map(text => Buffer.from(text));

const bytes = [
  ...[[0xff], [0xfe, 0xff, 0, 0x7b], [0xef, 0xbb, 0xbf, 0x7b, 0x7d], [0xc0, 0xaf], [0xed, 0xa0, 0x80]].map(list =>
    Buffer.from(list),
  ),
  ...['\xff', '\xc3', '\xed\xa0\x80', '\xf4\x90\x80\x80'].map(text =>
    Buffer.from(`{"payload":{"s":"${text}"}}`, 'latin1'),
  ),
  Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
];

export const hostileBodies: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...texts) },
  { weight: 1, arbitrary: fc.constantFrom(...bytes) },
  { weight: 3, arbitrary: fc.constantFrom(1, 2, 5_000).map(more => Buffer.from(long(bodyBytesMax + more))) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }).map(value => Buffer.from(JSON.stringify(value))) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }).map(payload => Buffer.from(JSON.stringify({ payload }))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }).map(list => Buffer.from(list)) },
);
