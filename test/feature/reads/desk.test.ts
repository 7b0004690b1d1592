// What reads hold together is bounded: the one that its caller has left longest gives way, and is told to end.
import { expect, test } from 'vitest';
import { pack } from '../../../runtime/packing.ts';
import { Slices } from '../../../runtime/slices.ts';
import { type Chunk, Desk, heldBytesMax } from '../../../service/reads/reads-under-way.ts';

/** Three of them are more than all reads may hold. */
const value = pack({ text: 'x'.repeat(heldBytesMax * 0.4) });
const failed: Partial<Chunk> = { kind: 'failed', reason: expect.stringContaining('took nothing for too long') };
const goesOn: Partial<Chunk> = { kind: 'text', isLast: false };
const read = { kind: 'job', id: new Uint8Array(16), detail: 'plain', waits: null } as const;

function openDesk(): Desk {
  return new Desk(new Slices(() => {}), async () => ['{"result":', () => value, '}']);
}

test('the read that was asked longest ago gives way to a new one', async () => {
  const desk = openDesk();
  expect(await desk.begin(1, read)).toMatchObject(goesOn);
  expect(await desk.begin(2, read)).toMatchObject(goesOn);
  expect(await desk.more(1)).toMatchObject(goesOn);
  expect(await desk.begin(3, read)).toMatchObject(goesOn);
  expect(await desk.more(2)).toEqual(failed);
  for (const id of [1, 3]) expect(await desk.more(id)).toMatchObject(goesOn);
});

test('a caller that asks at that moment is answered all the same', async () => {
  const desk = openDesk();
  await desk.begin(1, read);
  await desk.begin(2, read);
  const asked = [desk.begin(3, read), desk.more(1), desk.more(2)];
  const next = await Promise.all(
    asked.map(async (chunk, i) => ((await chunk)?.kind === 'text' ? desk.more([3, 1, 2][i]!) : chunk)),
  );
  expect(next.map(chunk => chunk?.kind).sort()).toEqual(['failed', 'text', 'text']);
});

test('what is dropped, or was written, holds nothing', async () => {
  const desk = openDesk();
  for (let id = 1; id <= 8; id++) {
    expect(await desk.begin(id, read)).toMatchObject(goesOn);
    if (id % 2 === 0) desk.drop(id);
    else await whole(desk, id);
    expect(await desk.more(id)).toBe(null);
  }
});

async function whole(desk: Desk, id: number): Promise<void> {
  for (let chunk = await desk.more(id); ; chunk = await desk.more(id)) {
    expect(chunk).toMatchObject({ kind: 'text' });
    if (chunk?.kind === 'text' && chunk.isLast) return;
  }
}
