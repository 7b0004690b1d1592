// What reads hold together is bounded: the one that its caller has left longest gives way, and is told to end.
import { expect, test } from 'vitest';
import { pack } from '../../../runtime/packing.ts';
import { Slices } from '../../../runtime/slices.ts';
import { ActiveReads, heldBytesMax, type ReadChunk } from '../../../service/reads/active-reads.ts';

/** Three of them are more than all reads may hold. */
const value = pack({ text: 'x'.repeat(heldBytesMax * 0.4) });
const failed: Partial<ReadChunk> = { kind: 'failed', reason: expect.stringContaining('the caller stopped reading') };
const goesOn: Partial<ReadChunk> = { kind: 'text', isLast: false };
const read = { kind: 'job', id: new Uint8Array(16), detail: 'plain', waits: null } as const;

function openDesk(): ActiveReads {
  return new ActiveReads(new Slices(() => {}), async () => ['{"result":', () => value, '}']);
}

test('the read that was asked longest ago gives way to a new one', async () => {
  const reads = openDesk();
  expect(await reads.begin(1, read)).toMatchObject(goesOn);
  expect(await reads.begin(2, read)).toMatchObject(goesOn);
  expect(await reads.more(1)).toMatchObject(goesOn);
  expect(await reads.begin(3, read)).toMatchObject(goesOn);
  expect(await reads.more(2)).toEqual(failed);
  for (const id of [1, 3]) expect(await reads.more(id)).toMatchObject(goesOn);
});

test('a caller that asks at that moment is answered all the same', async () => {
  const reads = openDesk();
  await reads.begin(1, read);
  await reads.begin(2, read);
  const asked = [reads.begin(3, read), reads.more(1), reads.more(2)];
  const next = await Promise.all(
    asked.map(async (chunk, i) => ((await chunk)?.kind === 'text' ? reads.more([3, 1, 2][i]!) : chunk)),
  );
  expect(next.map(chunk => chunk?.kind).sort()).toEqual(['failed', 'text', 'text']);
});

test('what is dropped, or was written, holds nothing', async () => {
  const reads = openDesk();
  for (let id = 1; id <= 8; id++) {
    expect(await reads.begin(id, read)).toMatchObject(goesOn);
    if (id % 2 === 0) reads.drop(id);
    else await whole(reads, id);
    expect(await reads.more(id)).toBe(null);
  }
});

async function whole(reads: ActiveReads, id: number): Promise<void> {
  for (let chunk = await reads.more(id); ; chunk = await reads.more(id)) {
    expect(chunk).toMatchObject({ kind: 'text' });
    if (chunk?.kind === 'text' && chunk.isLast) return;
  }
}
