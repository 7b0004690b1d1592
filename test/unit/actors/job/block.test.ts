// A block that is being filled: when it is closed, and what is read back of it.
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { BlockBuilder, blockBytesMax, decodeBlock } from '../../../../actors/job/records/block.ts';
import type { JobGroup } from '../../../../actors/job/records/job.ts';
import { makeBlockKeys } from '../../../../runtime/ids.ts';

const small: JobGroup = {
  submittedBy: 'test',
  parent: null,
  root: null,
  depth: 1,
  event: null,
  context: Buffer.of(0x80),
  pipeline: null,
  stepId: null,
  run: null,
  hooked: false,
  rerun: null,
  options: null,
  limits: undefined,
  phase: undefined,
};

const event = { type: 'a', source: 'echo', dedupeKey: null };
const quarter = 'x'.repeat(blockBytesMax / 4);

it.each([
  ['contexts', { context: Buffer.alloc(blockBytesMax / 4, 1) }],
  ['types of events', { event: { ...event, type: quarter } }],
  ['keys of events', { event: { ...event, dedupeKey: quarter } }],
])('is full of what its payloads take and the %s of its groups, each of which is stored', (_, large) => {
  const group: JobGroup = { ...small, ...large };
  const block = new BlockBuilder(makeBlockKeys(() => 7).next(0), 'echo', 'handle', 0);
  const payload = Buffer.alloc(100, 2);
  while (!block.full) {
    block.add(payload, group, false);
    block.add(payload, group, true);
  }
  expect(block.groups.length).toBe(4);
  const bytes = block.encode();
  expect(bytes.length).toBeLessThan(1.01 * blockBytesMax);
  const stored = decodeBlock(bytes);
  expect([stored.count, stored.starts]).toEqual([8, [0, 2, 4, 6]]);
  expect(stored.payload(7)).toEqual(payload);
  expect(isDeepStrictEqual(stored.group(3), group)).toBe(true);
});
