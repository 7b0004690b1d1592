// The payloads of a batch: what JSON.parse of the whole body would find, or what is wrong and where.
import { beforeEach, describe, expect, test } from 'vitest';
import { type BatchCheck, batchErrorsMax, batchPayloadsMax, inTurns, readBatch } from '../../../http/batch.ts';
import { readJson } from '../../../http/json.ts';
import { isProblem } from '../../../http/problem.ts';
import { PackedList } from '../../../runtime/packed-list.ts';
import { unpack } from '../../../runtime/packing.ts';
import { fc } from '../../support/seed.ts';

const ndjson = 'application/x-ndjson';
const anything: BatchCheck = {
  payloadBytesMax: 1_000,
  check: () => [],
  members: ['delay'],
  isHashed: true,
  isGone: () => false,
};

async function read(body: string, type = 'application/json', how: Partial<BatchCheck> = {}) {
  const batch = await readBatch(type, Buffer.from(body), { ...anything, ...how });
  if (isProblem(batch)) return { code: batch.code, detail: batch.detail, errors: batch.errors };
  return {
    payloads: new PackedList(batch.payloads).values().map(payload => unpack(payload)),
    hash: Buffer.from(batch.hash).toString('hex'),
  };
}

const payloads = fc.array(
  fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
  {
    minLength: 1,
    maxLength: 20,
  },
);

describe('any payloads', () => {
  test('are read alike from JSON and from NDJSON, however they are written', async () => {
    await fc.assert(
      fc.asyncProperty(payloads, fc.constantFrom(0, 1, '\t'), async (given, indent) => {
        const asJson = JSON.stringify({ payloads: given }, null, indent);
        const whole = readJson(Buffer.from(asJson));
        fc.pre(whole.kind === 'value');
        const fromJson = await read(asJson, undefined, { payloadBytesMax: 1e6 });
        expect(fromJson).toMatchObject(whole.value as object);
        const lines = given.map(each => JSON.stringify(each)).join('\r\n');
        expect(await read(`${lines}\n\n`, ndjson, { payloadBytesMax: 1e6 })).toEqual(fromJson);
      }),
      { numRuns: 100 },
    );
  });

  test('cut anywhere, JSON is refused', async () => {
    const whole = '{ "payloads" : [ {"a":"x\\"]}"} , {"b":[1,{"c":"}"}]} ] } ';
    expect(await read(whole)).toHaveProperty('payloads', [{ a: 'x"]}' }, { b: [1, { c: '}' }] }]);
    for (let end = 0; end < whole.trimEnd().length; end++)
      expect(await read(whole.slice(0, end)), whole.slice(0, end)).toMatchObject({
        code: expect.stringMatching(/^invalid_/),
      });
  });
});

describe('members beside the payloads', () => {
  const members = ['tags', 'other'];
  const membersOf = async (body: string) => {
    const batch = await readBatch(undefined, Buffer.from(body), { ...anything, members });
    return isProblem(batch) ? batch.detail : batch.members;
  };

  test('are read before and behind them', async () => {
    expect(await membersOf('{"payloads":[{}]}')).toEqual({});
    expect(await membersOf('{"payloads":[{}],"tags":{"a":"b,]}"}}')).toEqual({ tags: { a: 'b,]}' } });
    expect(await membersOf(' { "other" : "x" , "payloads" : [ {} ] , "tags" : null } ')).toEqual({
      other: 'x',
      tags: null,
    });
  });

  test.each([
    ['{"tags":{}}', '/payloads is required: a list of payloads'],
    ['{"tags":{},"payloads":[{}],"tags":{}}', 'the key "tags" occurs twice at byte 34'],
    ['{"payloads":[{}],"tags":}', 'a value of "tags" was expected at byte 24'],
    ['{"payloads":[{}],"tags":{"a":1,"a":2}}', 'a value of "tags" was expected at byte 24'],
    ['{"payloads":[{}],"wait":1}', '/wait is not a known field; known fields: payloads, tags, other'],
  ])('%s', async (body, detail) => {
    expect(await membersOf(body)).toContain(detail);
  });
});

describe('the hash', () => {
  test('is that of the values, not of the text', async () => {
    const a = await read('{"payloads":[{"a":1,"b":2},{}]}');
    expect(await read('{"b":2.0,"a":1}\n{}', ndjson)).toEqual({ ...a, payloads: [{ a: 1, b: 2 }, {}] });
    expect((await read('{"payloads":[{},{"a":1,"b":2}]}')).hash).not.toBe(a.hash);
  });
});

const refused: readonly (readonly [body: string, code: string, detail: RegExp])[] = [
  ['', 'invalid_json', /"{" was expected at byte 0/],
  ['[]', 'invalid_json', /"{" was expected at byte 0/],
  ['{}', 'invalid_request', /^\/payloads is required/],
  ['{"payloads":{}}', 'invalid_request', /^\/payloads must be a list/],
  ['{"payloads":[]}', 'invalid_request', /at least one payload/],
  ['{"payloads":[{}],"wait":1}', 'invalid_request', /^\/wait is not a known field; known fields: payloads, delay/],
  ['{"payloads":[{}],"payloads":[{}]}', 'invalid_json', /"payloads" occurs twice/],
  ['{"payloads":[{}],}', 'invalid_json', /a key in quotes was expected at byte 17/],
  ['{"payloads":[{},]}', 'invalid_json', /a payload was expected at byte 16/],
  ['{"payloads":[{}{}]}', 'invalid_json', /^payload 0: there is more after/],
  ['{"payloads":[{} ]} x', 'invalid_json', /nothing more was expected at byte 19/],
  ['{"payloads":[{},1]}', 'invalid_payload', /^payload 1 must be an object/],
  ['{"payloads":[{"a":1,"a":2}]}', 'invalid_json', /^payload 0: the key "a" occurs twice at byte 7 of the payload/],
  ['{"payloads":[{},{"a":12345678901234567890}]}', 'invalid_json', /^payload 1: the integer at "\/a" .*rounded/],
  ['{"payloads":[{"__proto__":{}}]}', 'invalid_json', /"__proto__" is not allowed/],
  [
    `{"payloads":[{"a":"${'x'.repeat(1_000)}"}]}`,
    'invalid_payload',
    /payload 0 has 1008 bytes; .*at most 1000: api.max_body_size/,
  ],
];

describe('a body that is refused', () => {
  test.each(refused)('%s', async (body, code, detail) => {
    expect(await read(body)).toMatchObject({ code, detail: expect.stringMatching(detail) });
  });

  test('a line that breaks off', async () => {
    const detail = 'payload 1: the JSON ends where "," or "}" was expected at byte 6 of the payload';
    expect(await read('{}\n{"a":1', ndjson)).toMatchObject({ code: 'invalid_json', detail });
  });

  test('invalid UTF-8', async () => {
    expect(await readBatch(undefined, Buffer.of(0x7b, 0xff), anything)).toMatchObject({ code: 'invalid_json' });
  });

  test('more payloads than the limit', async () => {
    const full = await read('{}\n'.repeat(batchPayloadsMax), ndjson);
    expect(full.payloads).toHaveLength(batchPayloadsMax);
    const over = await read('{}\n'.repeat(batchPayloadsMax + 1), ndjson);
    expect(over).toMatchObject({ code: 'invalid_request', detail: expect.stringMatching(/at most 10000 payloads/) });
  });

  test('lists what is wrong by index, up to a limit', async () => {
    const check = (payload: object) => ('bad' in payload ? [{ pointer: '/bad', message: 'is not a known field' }] : []);
    const one = await read('{"payloads":[{},{"bad":1},{},{"bad":2}]}', undefined, { check });
    expect(one).toEqual({
      code: 'invalid_payload',
      detail: 'payload 1: /bad is not a known field; errors has 2 in all',
      errors: [1, 3].map(index => ({ index, pointer: '/bad', message: 'is not a known field' })),
    });
    const many = await read('{"bad":1}\n'.repeat(batchErrorsMax + 1), ndjson, { check });
    expect(many.errors).toHaveLength(batchErrorsMax);
  });

  test('reading stops when the caller is gone', async () => {
    let taken = 0;
    const isGone = () => taken === 3;
    const check = () => {
      taken++;
      return [];
    };
    await read('{}\n'.repeat(100), ndjson, { check, isGone });
    expect(taken).toBe(3);
  });
});

describe('several batches', () => {
  const soon = () => new Promise(resolve => setImmediate(resolve));
  const steps: string[] = [];
  /** A step that takes a few iterations of the event loop. */
  const step = async (name: string, fails = false) => {
    steps.push(`${name} begins`);
    for (let n = 0; n < 3; n++) await soon();
    steps.push(`${name} ends`);
    if (fails) throw new Error(name);
    return { name };
  };
  const batch = (name: string, failing?: 'read' | 'commit') =>
    inTurns(
      () => step(`read ${name}`, failing === 'read'),
      () => step(`commit ${name}`, failing === 'commit'),
    );
  beforeEach(() => steps.splice(0));

  test('are read one after another, each while the one before it is committed', async () => {
    await Promise.all([batch('a'), batch('b'), batch('c')]);
    for (const kind of ['read', 'commit'])
      expect(steps.filter(name => name.startsWith(kind))).toEqual(
        ['a', 'b', 'c'].flatMap(name => [`${kind} ${name} begins`, `${kind} ${name} ends`]),
      );
    expect(steps.indexOf('read b begins')).toBeLessThan(steps.indexOf('commit a ends'));
    expect(steps.indexOf('commit a ends')).toBeLessThan(steps.indexOf('read c begins'));
  });

  test.each(['read', 'commit'] as const)('go on after a %s that fails', async failing => {
    const outcomes = await Promise.allSettled([batch('a'), batch('b', failing), batch('c')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(steps.at(-1)).toBe('commit c ends');
  });
});

describe('a large batch', () => {
  test.each([
    ['of many small values is searched', `{"a":[${'"",'.repeat(1_000_000)}""]}`],
    ['of a string with many escapes is searched', `{"a":"${'\\"'.repeat(5_000_000)}"}`],
    ['is searched behind much space', `${' '.repeat(20_000_000)}{"a":"${'x'.repeat(1_000)}"}`],
  ])('lets other requests be handled while the end of a payload %s', async (_, payload) => {
    let others = 0;
    let isRead = false;
    const other = () => {
      others++;
      if (!isRead) setImmediate(other);
    };
    setImmediate(other);
    const { errors } = await read(`{"payloads":[${payload}]}`);
    isRead = true;
    expect(errors).toEqual([{ index: 0, pointer: '', message: expect.stringContaining('a payload has at most 1000') }]);
    expect(others).toBeGreaterThan(4);
  });

  test('with a key of a megabyte is refused without repeating it', async () => {
    const refusal = await read(`{"${'k'.repeat(1_000_000)}":1}`);
    expect(refusal).toEqual({
      code: 'invalid_request',
      detail: 'the key at byte 1 has more than 16384 bytes',
      errors: undefined,
    });
  });
});
