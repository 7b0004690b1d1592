// The queue of segments that wait to be copied: its order, and what happens if they cannot be.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ArchiveQueue, type KeptSegment, waitingMax } from '../../../../runtime/commit-log/archive.ts';
import { segmentPath } from '../../../../runtime/commit-log/segments.ts';
import { until } from '../../../service/gateway/until.ts';

const scratch = mkdtempSync(join(tmpdir(), 'headgate-archive-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function segment(number: number, usedBytes = 4096): KeptSegment {
  const path = segmentPath(scratch, number);
  writeFileSync(path, Buffer.alloc(8192, number));
  return { number, bytes: 8192, path, usedBytes };
}

function queueOf() {
  const released: number[] = [];
  const queue = new ArchiveQueue(segments => void released.push(...segments.map(({ number }) => number)));
  return { released, queue };
}

test('segments are copied in their order, as far as they are used; those that were not used are only released', async () => {
  const { released, queue } = queueOf();
  const into = join(scratch, 'into');
  queue.push([segment(1), segment(2, 0), segment(3)], []);
  expect(released).toEqual([2]);
  queue.archiveTo(into, () => {});
  await queue.settled();
  expect(released).toEqual([2, 1, 3]);
  expect(readdirSync(into).sort()).toEqual(['000000000001.log', '000000000003.log']);
  expect(readFileSync(join(into, '000000000003.log'))).toEqual(Buffer.alloc(4096, 3));
});

test('a segment in use is copied as far as it has turns, then what is added, and is released when it is full', async () => {
  const { released, queue } = queueOf();
  const into = join(scratch, 'growing');
  queue.archiveTo(into, () => {});
  const written = segment(7);
  const copied = () => readFileSync(join(into, '000000000007.log'));
  queue.push([], [{ ...written, usedBytes: 512 }]);
  await queue.settled();
  expect(copied()).toEqual(Buffer.alloc(512, 7));
  // What was copied is not read again.
  writeFileSync(written.path, Buffer.concat([Buffer.alloc(512), Buffer.alloc(7680, 8)]));
  queue.push([], [{ ...written, usedBytes: 1536 }]);
  queue.push([], [{ ...written, usedBytes: 2048 }, segment(9, 0)]);
  await queue.settled();
  expect(copied()).toEqual(Buffer.concat([Buffer.alloc(512, 7), Buffer.alloc(1536, 8)]));
  expect(released).toEqual([]);
  queue.push([{ ...written, usedBytes: 8192 }], [segment(9)]);
  await queue.settled();
  expect([copied().length, released]).toEqual([8192, [7]]);
  expect(readdirSync(into).sort()).toEqual(['000000000007.log', '000000000009.log']);
  // After a change of the directory, the new one gets the whole segment.
  queue.archiveTo(join(into, 'other'), () => {});
  await queue.settled();
  expect(readdirSync(join(into, 'other'))).toEqual(['000000000009.log']);
});

test('if they cannot be copied, a limited number waits, then the oldest is given up, with a line in the log', async () => {
  const { released, queue } = queueOf();
  const taken = join(scratch, 'taken');
  writeFileSync(taken, '');
  const said: string[] = [];
  queue.archiveTo(join(taken, 'log'), message => void said.push(message));
  for (let n = 1; n <= waitingMax; n++) queue.push([segment(n)], []);
  await queue.settled();
  expect([released, said]).toEqual([[], ['the commit log cannot be archived']]);
  expect(queue.failure).toContain('ENOTDIR');
  queue.push([segment(waitingMax + 1)], []);
  expect(released).toEqual([1]);
  expect(said.at(-1)).toBe('a segment of the commit log was not archived: no restore can pass it');
  // Once the directory can be made, the rest is copied.
  rmSync(taken);
  queue.archiveTo(join(taken, 'log'), () => {});
  await until('all are copied', () => released.length === waitingMax + 1);
  expect(readdirSync(join(taken, 'log'))).toHaveLength(waitingMax);
  expect(queue.failure).toBeNull();
  queue.close();
});

test('a copy that fails leaves nothing', async () => {
  const { queue } = queueOf();
  const into = join(scratch, 'failed');
  queue.archiveTo(into, () => {});
  queue.push([segment(5, 10_000)], []);
  await queue.settled();
  expect(queue.failure).toContain('ends at byte 8192');
  expect(readdirSync(into)).toEqual([]);
  queue.close();
});
