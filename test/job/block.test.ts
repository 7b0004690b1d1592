// A block that is being filled: when it is closed, and what is read back of it.
import { expect, it } from 'vitest';
import { BlockBuilder, blockBytesMax, decodeBlock } from '../../actors/job/block.ts';
import type { JobGroup } from '../../actors/job/record.ts';
import { makeBlockKeys } from '../../runtime/ids.ts';

const group: JobGroup = {
  submittedBy: 'test',
  parent: null,
  root: null,
  depth: 1,
  event: null,
  context: Buffer.alloc(blockBytesMax / 4, 1),
  pipeline: null,
  stepId: null,
  run: null,
  hooked: false,
};

it('is full of what its payloads take and the contexts of its groups, each of which is stored', () => {
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
  expect(Buffer.compare(stored.group(3).context, group.context)).toBe(0);
});
