// A state directory has one owner: who comes second asks for its process, or watches whether it shows life.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { identify, type ProcessIdentity } from '../../runtime/process.ts';
import { openStore } from '../../runtime/store/lmdb.ts';
import type { Store } from '../../runtime/store/store.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-owner-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const silenceMs = 5;
const self = identify(process.pid);
const elsewhere = { ...self, namespace: 'pid:[1]' };
let places = 0;

/** A directory whose owner is this one, and the store that is still open on it. */
function ownedBy(owner: ProcessIdentity): { readonly path: string; readonly store: Store } {
  const path = join(directory, `${places++}`);
  const store = openStore(path);
  write(store, owner);
  return { path, store };
}

function write(store: Store, owner: ProcessIdentity): void {
  note(store, 'owner', Buffer.from(JSON.stringify(owner)));
}

function note(store: Store, name: string, value: Buffer): void {
  const batch = store.batch();
  batch.put('meta', Buffer.from(name), value);
  store.commit(batch);
}

function ownerOf(store: Store): ProcessIdentity {
  store.refresh();
  return JSON.parse(Buffer.from(store.get('meta', Buffer.from('owner'))!).toString());
}

/** A process that waits, and does what it is told to. */
async function start(code: string): Promise<number> {
  const child = spawn(process.execPath, ['-e', `${code}; setInterval(() => {}, 1000); console.log()`]);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child.pid!;
}

test('a process of this namespace is asked whether it lives', async () => {
  const { path } = ownedBy(identify(await start('')));
  expect(() => openStore(path, silenceMs)).toThrow(/is in use by process \d+: stop it/);
});

test.each<[string, Partial<ProcessIdentity>]>([
  ['has its number since', { startTicks: '1' }],
  ['lived before the machine was started', { bootId: 'b' }],
  ['is in another namespace and shows no life, though one here has its number', { namespace: 'pid:[1]' }],
])('an owner that %s is followed', (_, difference) => {
  const { path } = ownedBy({ ...self, pid: process.ppid, ...difference });
  expect(ownerOf(openStore(path, silenceMs))).toEqual(self);
});

test('an owner in another namespace that shows life keeps it, though it has the same number', async () => {
  const { path, store } = ownedBy(elsewhere);
  const sign = JSON.stringify(join(path, 'alive'));
  await start(`let at = 0; setInterval(() => fs.utimesSync(${sign}, ++at, at), 1)`);
  expect(() => openStore(path, 60_000)).toThrow(`in use by process ${self.pid} of another container`);
  expect(ownerOf(store)).toEqual(elsewhere);
});

test('who was taken for dead writes no more, and leaves the claim of its successor alone', () => {
  const { store } = ownedBy(elsewhere);
  expect(() => write(store, self)).toThrow('was taken over by another process');
  expect(ownerOf(store)).toEqual(elsewhere);
  store.close();
});

test('what was written in the format before this one is read, and is of this one from then on', () => {
  const { path, store } = ownedBy(self);
  const formatOf = (of: Store) => of.get('meta', Buffer.from('format'))![0]!;
  const own = formatOf(store);
  note(store, 'format', Buffer.of(own - 1));
  expect(formatOf(openStore(path, silenceMs))).toBe(own);
  for (const other of [own - 2, own + 1]) {
    note(store, 'format', Buffer.of(other));
    expect(() => openStore(path, silenceMs)).toThrow(
      `was written in format ${other}; this version reads ${own - 1} and ${own}`,
    );
  }
});
