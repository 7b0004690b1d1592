// A state directory has one owner: who comes second asks for its process, or watches whether it shows life.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { identify, type ProcessIdentity } from '../../../runtime/processes/identity.ts';
import { openStore } from '../../../runtime/store/lmdb.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { until } from '../../service/gateway/until.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-owner-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const builtStore = new URL('../../../dist/runtime/store/lmdb.js', import.meta.url).href;
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
])('an owner that %s is followed', async (_, difference) => {
  const { path } = ownedBy({ ...self, pid: process.ppid, ...difference });
  // The store that is still open shows life once when its thread has started, and then not for a second.
  const sign = () => statSync(join(path, 'alive'));
  await until('the first sign of life', () => sign().mtimeMs !== sign().birthtimeMs);
  expect(ownerOf(openStore(path, silenceMs))).toEqual(self);
});

test('an owner in another namespace that shows life keeps it, though it has the same number', async () => {
  const { path, store } = ownedBy(elsewhere);
  const sign = JSON.stringify(join(path, 'alive'));
  await start(`let at = 0; setInterval(() => fs.utimesSync(${sign}, ++at, at), 1)`);
  expect(() => openStore(path, 60_000)).toThrow(`in use by process ${self.pid} of another container`);
  expect(ownerOf(store)).toEqual(elsewhere);
});

/** Opens the store in a thread of another process, as `elsewhere`, and goes on with this code there; it may `say` something. */
async function startElsewhere(path: string, code: string): Promise<ChildProcessByStdio<Writable, Readable, null>> {
  const thread = `
    const { writeSync } = require('node:fs');
    const say = text => writeSync(1, text);
    const hold = (ms = Infinity) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    import(${JSON.stringify(builtStore)}).then(({ openStore }) => {
      const store = openStore(${JSON.stringify(path)});
      const batch = store.batch();
      batch.put('meta', Buffer.from('owner'), Buffer.from(${JSON.stringify(JSON.stringify(elsewhere))}));
      store.commit(batch);
      ${code}
    });`;
  const service = `new (require('node:worker_threads').Worker)(${JSON.stringify(thread)}, { eval: true })`;
  const child = spawn(process.execPath, ['-e', service], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

test('an owner whose ledger thread stalls shows life all the same', async () => {
  const path = join(directory, `${places++}`);
  await startElsewhere(path, "say('open'); hold();");
  expect(() => openStore(path, 10_000)).toThrow(`in use by process ${self.pid} of another container`);
});

test('an owner that is in the midst of a commit keeps its directory, though it cannot renew the time either', async () => {
  const path = join(directory, `${places++}`);
  const asked = `${path}.asked`;
  const stalled = `${path}.stalled`;
  await startElsewhere(
    path,
    `
    const { existsSync, writeFileSync } = require('node:fs');
    say('open');
    while (!existsSync(${JSON.stringify(asked)})) hold(5);
    const env = require('lmdb').open({ path: ${JSON.stringify(path)}, noSubdir: false, maxDbs: 64 });
    env.transactionSync(() => {
      writeFileSync(${JSON.stringify(stalled)}, '');
      hold(400);
    });
    hold();
    `,
  );
  const nap = new Int32Array(new SharedArrayBuffer(4));
  let looks = 0;
  const watch = (): boolean => {
    writeFileSync(asked, '');
    for (let naps = 0; !existsSync(stalled); naps++) {
      if (naps > 4_000) throw new Error('the other process never took the write lock');
      Atomics.wait(nap, 0, 0, 5);
    }
    return ++looks > 1;
  };
  expect(() => openStore(path, 0, watch)).toThrow(`in use by process ${self.pid} of another container`);
  expect(looks).toBe(2);
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
  for (const [other, advice] of [
    [own - 2, `start it once with a version that reads ${own - 2} and ${own - 1}, then with this one`],
    [own + 1, 'start the newer version that wrote it, or set state.path to a copy from before the upgrade'],
  ] as const) {
    note(store, 'format', Buffer.of(other));
    expect(() => openStore(path, silenceMs)).toThrow(
      `was written in state format ${other}; this version reads ${own - 1} and ${own}: ${advice}`,
    );
  }
});
