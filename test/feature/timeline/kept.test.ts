// Timelines that are kept in memory: those of ended jobs, up to a limit of bytes, and only while the job is stored.
import { expect, test } from 'vitest';
import { parseId } from '../../../runtime/ids.ts';
import { openTimelines } from '../../../service/reads/timelines.ts';
import { inSlices } from '../../support/slices.ts';
import { type JobStory, Ledger } from '../search/ledger.ts';

const over: JobStory = { attempts: [{ status: 'succeeded' }], end: 'over' };
const running: JobStory = { attempts: [], end: 'running' };

/** A ledger with these jobs, and how to read the timeline of one of them. */
function stage(jobs: readonly JobStory[], bytesMax?: number) {
  const ledger = new Ledger();
  for (const job of jobs) ledger.add({ plugin: 'echo', command: 'say', submittedBy: 'api:test', jobs: [job] });
  const ids = ledger.jobs.map(({ id }) => parseId(id)!);
  const timelineOf = openTimelines(ledger.store, bytesMax);
  const read = (n: number, buckets = 10) =>
    inSlices(timelineOf({ id: ids[n]!, buckets, nowUs: 2_000_000_000_000_000 }), () => {});
  return { ledger, read };
}

test('the timeline of an ended job is read once, for each number of buckets', async () => {
  const { read } = stage([over]);
  const first = await read(0);
  expect(await read(0)).toBe(first);
  expect(await read(0, 9)).not.toBe(first);
});

test('that of an open job is read again each time', async () => {
  const { read } = stage([running]);
  const first = await read(0);
  expect(first).toMatchObject({ status: 'running', isOver: false, steps: [{ count: 1 }] });
  expect(await read(0)).not.toBe(first);
});

test('beyond the limit, the one that was read least recently is dropped', async () => {
  // Each takes about 12 KiB.
  const { read } = stage([over, over, over], 30 * 2 ** 10);
  const [first, second] = [await read(0), await read(1)];
  expect(await read(0)).toBe(first);
  await read(2);
  expect(await read(0)).toBe(first);
  expect(await read(1)).not.toBe(second);
});

test('a timeline that is larger than the limit is not kept', async () => {
  const { read } = stage([over], 1_000);
  const first = await read(0);
  expect(await read(0)).not.toBe(first);
});

test('a pruned job has none any more', async () => {
  const { ledger, read } = stage([over, over]);
  expect(await read(0)).toMatchObject({ isOver: true });
  ledger.prune(0);
  expect(await read(0)).toBeNull();
  expect(await read(1)).toBeNull();
});
