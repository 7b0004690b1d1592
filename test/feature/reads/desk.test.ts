// The memory of all reads together is limited: the read whose caller has not fetched for longest is dropped, and told to end.
import { expect, test } from 'vitest';
import { parseId } from '../../../runtime/ids.ts';
import { pack } from '../../../runtime/packing.ts';
import { Dropped, type Sliced, Slices } from '../../../runtime/slices.ts';
import { ActiveReads, chunkCharsMin, heldBytesMax, type ReadChunk } from '../../../service/reads/active-reads.ts';
import { openAnswers, stopwatchesMax, timelinesMax } from '../../../service/reads/answers.ts';
import type { Read } from '../../../service/reads/reads.ts';
import { until } from '../../service/gateway/until.ts';
import { openMemoryIndex } from '../../support/memory-store.ts';
import { inSlices } from '../../support/slices.ts';
import { Ledger } from '../search/ledger.ts';

/** Three values of this size are more than all reads together may hold. */
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

test('what a read holds besides values counts, too', async () => {
  const answer = async () => ['{', '}'.repeat(chunkCharsMin), ''];
  const reads = new ActiveReads(new Slices(() => {}), (_read, _share, hold) => {
    hold(heldBytesMax * 0.4);
    return answer();
  });
  for (const id of [1, 2, 3]) expect(await reads.begin(id, read)).toMatchObject(goesOn);
  expect(await reads.more(1)).toEqual(failed);
  for (const id of [2, 3]) await whole(reads, id);
  for (const id of [4, 5]) expect(await reads.begin(id, read)).toMatchObject(goesOn);
  for (const id of [4, 5]) await whole(reads, id);
});

test.each([
  ['timelines', timelinesMax],
  ['readings of the stopwatch', stopwatchesMax],
] as const)(
  'a limited number of %s is in progress at the same time; the next one begins when one of them ends or is dropped',
  async (what, max) => {
    const ledger = new Ledger();
    ledger.add({ plugin: 'echo', command: 'say', submittedBy: 'api:test', jobs: [{ attempts: [], end: 'running' }] });
    const answers = openAnswers(ledger.store, openMemoryIndex);
    const id = parseId(ledger.jobs[0]!.id)!;
    const timeline = { kind: 'timeline', id, buckets: 10, nowUs: 2_000_000_000_000_000, withErrors: false } as const;
    const window = { from: 0, to: 1 };
    const stopwatch = { kind: 'stopwatch', plugin: 'echo', window, nowUs: 0, steps: [], onlySteps: false } as const;
    const wanted: Read = what === 'timelines' ? timeline : { ...stopwatch, subs: null, bounds: false, history: null };
    /** Functions that end the pieces of work that have begun, in order. */
    const begun: (() => void)[] = [];
    const share = {
      run: <T>(work: Sliced<T>) =>
        new Promise<T>((resolve, reject) => {
          const isDropped = begun.length % 2 === 0;
          begun.push(() => (isDropped ? reject(new Dropped()) : void inSlices(work, () => {}).then(resolve)));
        }),
      close: () => {},
    };
    const held: number[] = [];
    const all = Array.from({ length: max + 2 }, () => answers(wanted, share, bytes => void held.push(bytes)));
    const ended = Promise.allSettled(all);
    for (let end = 0; end < all.length; end++) {
      await until('the next ones have begun', () => begun.length === Math.min(all.length, max + end));
      begun[end]!();
    }
    expect((await ended).map(({ status }) => status)).toEqual(
      all.map((_, place) => (place % 2 === 0 ? 'rejected' : 'fulfilled')),
    );
    expect(held).toHaveLength(all.length / 2);
    expect(held.every(bytes => bytes > 0)).toBe(what === 'timelines');
  },
);

async function whole(reads: ActiveReads, id: number): Promise<void> {
  for (let chunk = await reads.more(id); ; chunk = await reads.more(id)) {
    expect(chunk).toMatchObject({ kind: 'text' });
    if (chunk?.kind === 'text' && chunk.isLast) return;
  }
}
