// Which backups and which segments of the commit log are kept if the clock was wrong when a backup was written.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { archiveOf } from '../../../runtime/commit-log/archive.ts';
import { firstNeeded } from '../../../runtime/commit-log/log-reader.ts';
import { headerBytes, writeHeader } from '../../../runtime/commit-log/part.ts';
import { listSegments, segmentPath } from '../../../runtime/commit-log/segments.ts';
import { newestBackup, removeOlder, removeOldLogs } from '../../../service/backup/kept.ts';
import type { BackupManifest } from '../../../service/backup/manifest.ts';
import { writeManifest } from './write-manifest.ts';

const storeId = '00000000-0000-4000-8000-000000000000';
const [first, second, ahead, later] = ['2026-01-01', '2026-01-02', '2026-06-01', '2026-06-02'].map(
  day => `headgate-${day}T00-00-00Z`,
) as [string, string, string, string];
const nowMs = Date.parse('2026-01-03T00:00:00Z');

function directory(): string {
  const into = mkdtempSync(join(tmpdir(), 'headgate-kept-'));
  onTestFinished(() => rmSync(into, { recursive: true }));
  return into;
}

function put(into: string, name: string, turn: BackupManifest['turn'] = null): void {
  writeManifest(join(into, name), { store_id: storeId, created_at: `${name.slice(9, 19)}T00:00:00.000Z`, turn });
}

test('a backup with a time in the future is not the newest, and is removed first', async () => {
  const into = directory();
  for (const name of [first, second, ahead, later]) put(into, name);
  expect(await newestBackup(into, storeId, nowMs)).toEqual({
    path: join(into, second),
    ms: Date.parse('2026-01-02T00:00:00Z'),
  });
  expect(await removeOlder(into, 3, second, storeId, nowMs)).toEqual([join(into, ahead)]);
  expect(await removeOlder(into, 1, second, storeId, nowMs)).toEqual([join(into, later), join(into, first)]);
  expect(readdirSync(into)).toEqual([second]);
});

test('the backup that was just written stays, even if the clock was set back meanwhile', async () => {
  const into = directory();
  for (const name of [first, second, ahead]) put(into, name);
  expect(await removeOlder(into, 1, ahead, storeId, nowMs)).toEqual([join(into, second), join(into, first)]);
});

test('backups of other stores stay; backups whose store is unknown count as those of this store', async () => {
  const into = directory();
  for (const name of [first, second]) put(into, name);
  const other = 'headgate-2026-01-01T12-00-00Z';
  writeManifest(join(into, other), { store_id: '00000000-0000-4000-8000-000000000001' });
  const unknown = 'headgate-2026-01-01T13-00-00Z';
  writeManifest(join(into, unknown), { store_id: null });
  expect(await removeOlder(into, 1, second, storeId, nowMs)).toEqual([join(into, unknown), join(into, first)]);
  expect(readdirSync(into).sort()).toEqual([other, second]);
});

test('the log stays from the oldest turn of all backups on, whatever their times are', async () => {
  const into = directory();
  put(into, second, { number: 30, at: '2026-01-02T00:00:00.000Z' });
  put(into, ahead, { number: 15, at: '2026-06-01T00:00:00.000Z' });
  const archive = archiveOf(into, storeId);
  mkdirSync(archive);
  for (const number of [1, 2, 3, 4]) writeFileSync(segmentPath(archive, number), headOf(number));
  expect(await removeOldLogs(into, storeId)).toEqual([segmentPath(archive, 1)]);
});

/** The head of a segment. Each segment begins with the turn after the ten turns of the segment before. */
function headOf(number: number): Buffer {
  const head = Buffer.alloc(headerBytes);
  const none = { epoch: 1, atUs: 0, checkpoint: 0, part: 0, bytes: 0, turnBytes: 0, turnChecksum: 0 };
  writeHeader(head, { segment: number, lsn: 10 * (number - 1) + 1, ...none });
  return head;
}

test.each([
  [0, 0],
  [10, 0],
  [11, 1],
  [123_450, 12_344],
  [123_451, 12_345],
  [199_990, 19_998],
  [199_991, 19_999],
  [1_000_000, 19_999],
])('of a long log few segments are opened to find the first that is needed after turn %i', (turn, index) => {
  const path = join(directory(), 'segment');
  let opened = 0;
  const segments = Array.from({ length: 20_000 }, (_, n) => ({
    number: n + 1,
    bytes: headerBytes,
    get path() {
      opened++;
      writeFileSync(path, headOf(n + 1));
      return path;
    },
  }));
  expect(firstNeeded(segments, turn)).toBe(index);
  expect(opened).toBeLessThanOrEqual(40);
});

test('a segment whose head cannot be read is kept', () => {
  const into = directory();
  for (const number of [1, 2, 3, 4])
    writeFileSync(segmentPath(into, number), number === 3 ? Buffer.alloc(headerBytes) : headOf(number));
  expect([5, 15, 35, 45].map(turn => firstNeeded(listSegments(into), turn))).toEqual([0, 1, 1, 1]);
});
