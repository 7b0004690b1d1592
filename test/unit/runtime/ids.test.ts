// Job ids: UUIDv7 that sort by age and lead to their block.

import { expect, it } from 'vitest';
import { blockOf, formatId, indexOf, jobId, makeBlockKeys, parseId } from '../../../runtime/ids.ts';
import { fc } from '../../support/seed.ts';

it('makes keys that only grow, whatever the clock does', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 2, maxLength: 300 }), times => {
      const keys = makeBlockKeys(() => Math.floor(Math.random() * 2 ** 32));
      const made = times.map(ms => Buffer.from(keys.next(1_700_000_000_000 + ms)));
      for (let i = 1; i < made.length; i++) expect(Buffer.compare(made[i - 1]!, made[i]!)).toBe(-1);
    }),
  );
});

it('goes on growing past 4,096 keys of one millisecond', () => {
  const keys = makeBlockKeys(() => 0);
  const made = Array.from({ length: 10_000 }, () => Buffer.from(keys.next(1_700_000_000_000)).toString('hex'));
  expect(made).toEqual([...made].sort());
  expect(new Set(made).size).toBe(10_000);
});

it('reads what it writes, and nothing else', () => {
  const key = makeBlockKeys(() => 0xffffffff).next(Date.now());
  const id = jobId(key, 70_000);
  const text = formatId(id);
  expect(text).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(parseId(text)).toEqual(id);
  expect(parseId(text.toUpperCase())).toEqual(id);
  expect(blockOf(id)).toEqual(key);
  expect(indexOf(id)).toBe(70_000);
  const ofAnotherVersion = `${text.slice(0, 14)}4${text.slice(15)}`;
  for (const other of ['', 'x', text.slice(1), `${text}0`, ofAnotherVersion, `${text}\n`])
    expect(parseId(other)).toBeUndefined();
});
