// What becomes of the index when the process or the system goes down: kept, or made again.
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openIndexStore } from '../../runtime/store/lmdb.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-index-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

type Case = readonly [
  ends: 'stopped' | 'killed',
  before: string | null,
  after: string | null,
  becomes: 'kept' | 'made again',
];
const cases: readonly Case[] = [
  ['stopped', 'boot 1', 'boot 1', 'kept'],
  ['stopped', 'boot 1', 'boot 2', 'kept'],
  ['stopped', 'boot 1', null, 'kept'],
  ['killed', 'boot 1', 'boot 1', 'kept'],
  ['killed', 'boot 1', 'boot 2', 'made again'],
  ['killed', 'boot 1', null, 'made again'],
  // Where boots cannot be told apart, each commit is on disk.
  ['stopped', null, null, 'kept'],
  ['killed', null, null, 'kept'],
  ['killed', null, 'boot 1', 'kept'],
];

it.each(cases)('an index that was %s in %s is, in %s, %s', (ends, before, after, becomes) => {
  const key = Buffer.from('word');
  const written = mkdtempSync(join(directory, 'written-'));
  const index = openIndexStore(written, before);
  const batch = index.batch();
  batch.put('postings', key, Buffer.from('logs'));
  index.commit(batch);
  if (ends === 'stopped') index.close();
  // What a killed process leaves behind is what the system has at that moment.
  const left = `${written}-left`;
  cpSync(written, left, { recursive: true });
  if (ends === 'killed') index.close();
  const again = openIndexStore(left, after);
  expect(again.get('postings', key)?.length).toBe(becomes === 'kept' ? 4 : undefined);
  again.close();
  expect(existsSync(join(left, 'search/boot'))).toBe(false);
});

it('what a start makes again it does not make again at the next one', () => {
  const path = mkdtempSync(join(directory, 'twice-'));
  openIndexStore(path, 'boot 1').close();
  const torn = `${path}-torn`;
  const killed = openIndexStore(path, 'boot 1');
  cpSync(path, torn, { recursive: true });
  killed.close();
  const index = openIndexStore(torn, 'boot 2');
  const batch = index.batch();
  batch.put('postings', Buffer.from('word'), Buffer.from('logs'));
  index.commit(batch);
  index.close();
  const next = openIndexStore(torn, 'boot 3');
  expect(next.count('postings')).toBe(1);
  next.close();
});
