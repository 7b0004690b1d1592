// The search index: what it takes to set one aside, and what its readers see when a new one stands in its place.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { IndexReaders } from '../../../runtime/store/index-readers.ts';
import { openIndexStore } from '../../../runtime/store/index-store.ts';
import { type IndexTable, IndexUnavailable, type Reader, type Store } from '../../../runtime/store/store.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-index-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const builtStore = new URL('../../../dist/runtime/store/index-store.js', import.meta.url).href;
const key = Buffer.from('minute');

function note(store: Store<IndexTable>, text: string): void {
  const batch = store.batch();
  batch.put('stopwatch', key, Buffer.from(text));
  store.commit(batch);
}

function noted(reader: Reader<IndexTable>): string | undefined {
  const value = reader.get('stopwatch', key);
  return value && Buffer.from(value).toString();
}

/** Gives the index another format number, as another version would. */
function changeFormat(store: Store<IndexTable>): void {
  const batch = store.batch();
  batch.put('positions', Buffer.from('format'), Buffer.of(1));
  store.commit(batch);
}

function asideIn(path: string): string[] {
  return readdirSync(path).filter(name => name.startsWith('search-aside-'));
}

test.each([0, 1, 2])('with %i descriptors left the index cannot be opened, and is kept as it is', left => {
  const path = join(directory, `descriptors-${left}`);
  const store = openIndexStore(path, expect.fail);
  note(store, 'history');
  store.close();
  const code = `
    const fs = require('node:fs');
    import(${JSON.stringify(builtStore)}).then(({ openIndexStore }) => {
      const taken = [];
      for (;;) {
        try { taken.push(fs.openSync('/dev/null', 'r')); } catch { break; }
      }
      for (const one of taken.slice(0, ${left})) fs.closeSync(one);
      let said = 'opened';
      try { openIndexStore(${JSON.stringify(path)}, () => {}); } catch ({ message }) { said = message; }
      fs.writeSync(1, said);
      process.exit();
    });`;
  const words = ['-c', 'ulimit -n 64; exec "$0" -e "$1"', process.execPath, code];
  const { stdout, stderr } = spawnSync('sh', words, { encoding: 'utf8' });
  expect([stdout, stderr]).toEqual([expect.stringMatching(/too many open files/i), '']);
  const again = openIndexStore(path, expect.fail);
  expect(noted(again)).toBe('history');
  again.close();
  expect(asideIn(path)).toEqual([]);
});

test('a file in the place of the index is moved away', () => {
  const path = join(directory, 'file');
  mkdirSync(path);
  writeFileSync(join(path, 'search'), 'no index');
  const said: string[] = [];
  openIndexStore(path, reason => void said.push(reason)).close();
  expect(said).toEqual(['it is not a directory']);
  expect(readFileSync(join(path, asideIn(path)[0]!), 'utf8')).toBe('no index');
  openIndexStore(path, expect.fail).close();
});

test('an index whose files cannot be opened is kept as it is', () => {
  const path = join(directory, 'files');
  const store = openIndexStore(path, expect.fail);
  note(store, 'history');
  store.close();
  const lock = join(path, 'search/lock.mdb');
  rmSync(lock);
  mkdirSync(lock);
  expect(() => openIndexStore(path, expect.fail)).toThrow(`${lock} is not a file`);
  rmSync(lock, { recursive: true });
  const again = openIndexStore(path, expect.fail);
  expect(noted(again)).toBe('history');
  again.close();
});

test('an index of another format is set aside, one at most, and that is said', () => {
  const path = join(directory, 'format');
  for (const text of ['first', 'second']) {
    const store = openIndexStore(path, expect.fail);
    note(store, text);
    changeFormat(store);
    store.close();
    const said: { readonly reason: string; readonly to: string }[] = [];
    const next = openIndexStore(path, (reason, to) => void said.push({ reason, to }));
    expect(noted(next)).toBe(undefined);
    next.close();
    expect(said).toEqual([{ reason: 'it has format 1; this version needs 2', to: expect.any(String) }]);
    expect(asideIn(path).map(name => join(path, name))).toEqual([said[0]!.to]);
    expect(existsSync(join(said[0]!.to, 'data.mdb'))).toBe(true);
  }
});

test('a reader finds the index that stands in the place of the one it has read', () => {
  const path = join(directory, 'readers');
  const readers = new IndexReaders(path);
  expect(() => readers.current()).toThrow(IndexUnavailable);
  const store = openIndexStore(path, expect.fail);
  note(store, 'before');
  const before = readers.current();
  expect(noted(before)).toBe('before');
  changeFormat(store);
  store.close();

  const restarted = openIndexStore(path, () => {});
  note(restarted, 'after');
  readers.refresh();
  expect(noted(readers.current())).toBe('after');
  // A read that is under way keeps the index with which it began.
  expect(noted(before)).toBe('before');
  note(restarted, 'later');
  readers.refresh();
  readers.closeGone();
  expect(noted(readers.current())).toBe('later');
  restarted.close();
});
