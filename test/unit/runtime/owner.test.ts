// A state directory has one owner: a second process asks whether the owner lives, or watches for its sign of life.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { identify, type ProcessIdentity } from '../../../runtime/processes/identity.ts';
import { formatsRead, formatsReadText, formatVersion } from '../../../runtime/store/format.ts';
import { type LedgerStore, openReaderBeside, openStore } from '../../../runtime/store/ledger-store.ts';
import { ownerPath, readOwner } from '../../../runtime/store/owner.ts';
import { until } from '../../service/gateway/until.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-owner-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const built = (name: string): string => new URL(`../../../dist/runtime/store/${name}.js`, import.meta.url).href;
const silenceMs = 5;
const self = identify(process.pid);
const elsewhere = { ...self, namespace: 'pid:[1]' };
let places = 0;

/** Makes a state directory whose owner file names this owner. */
function ownedBy(owner: ProcessIdentity): string {
  const path = join(directory, `${places++}`);
  openStore(path).close();
  own(path, owner);
  return path;
}

/** Replaces the owner file, as a process does that takes the directory over. */
function own(path: string, owner: ProcessIdentity): void {
  rmSync(ownerPath(path), { force: true });
  writeFileSync(ownerPath(path), JSON.stringify({ ...owner, epoch: 1 }));
}

function note(store: LedgerStore, name: string, value: Buffer): void {
  const batch = store.batch();
  batch.put('meta', Buffer.from(name), value);
  store.commit(batch);
}

/** Opens the store; returns its owner while it was open. */
function ownerOnceOpen(path: string): object | null {
  const store = openStore(path, { silenceMs });
  const { epoch: _, ...owner } = readOwner(path)!;
  store.close();
  expect(existsSync(ownerPath(path))).toBe(false);
  return owner;
}

/** A process that runs this code, and then waits. */
async function start(code: string): Promise<number> {
  const child = spawn(process.execPath, ['-e', `${code}; setInterval(() => {}, 1000); console.log()`]);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child.pid!;
}

test('a process of this namespace is asked whether it lives', async () => {
  const path = ownedBy(identify(await start('')));
  expect(() => openStore(path, { silenceMs })).toThrow(/is in use by process \d+: stop it/);
});

test('a store that is open in this process cannot be opened again', () => {
  const path = join(directory, `${places++}`);
  const store = openStore(path);
  expect(() => openStore(path)).toThrow(`in use by process ${process.pid}`);
  store.close();
  openStore(path).close();
});

test.each<[string, Partial<ProcessIdentity>]>([
  ['has its number since', { startTicks: '1' }],
  ['lived before the machine was started', { bootId: 'b' }],
  ['is in another namespace and shows no life, though one here has its number', { namespace: 'pid:[1]' }],
])('an owner that %s is followed', (_, difference) => {
  const path = ownedBy({ ...self, pid: process.ppid, ...difference });
  expect(ownerOnceOpen(path)).toEqual(self);
});

test('an owner in another namespace that shows life keeps it, though it has the same number', async () => {
  const path = ownedBy(elsewhere);
  const sign = JSON.stringify(join(path, 'alive'));
  await start(`let at = 0; setInterval(() => fs.utimesSync(${sign}, ++at, at), 1)`);
  expect(() => openStore(path, { silenceMs: 60_000 })).toThrow(`in use by process ${self.pid} of another container`);
  expect(readOwner(path)).toMatchObject(elsewhere);
});

test('beside an owner in another namespace that shows life, only a process with another number reads', async () => {
  const path = ownedBy({ ...elsewhere, pid: process.ppid });
  const sign = JSON.stringify(join(path, 'alive'));
  await start(`let at = 0; setInterval(() => fs.utimesSync(${sign}, ++at, at), 1)`);
  openReaderBeside(path).close();
  own(path, elsewhere);
  expect(() => openReaderBeside(path)).toThrow(
    `${path} is held by a process of another container that also has the pid ${process.pid}: run this command in that container`,
  );
});

/** Opens the store in a thread of another process, as the owner `elsewhere`, then runs this code there, which may print with `say`. */
async function startElsewhere(path: string, code: string): Promise<ChildProcessByStdio<Writable, Readable, null>> {
  const file = `${path}.owner`;
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(file, JSON.stringify({ ...elsewhere, epoch: 1 }));
  const thread = `
    const { existsSync, readFileSync, renameSync, writeFileSync, writeSync } = require('node:fs');
    const say = text => writeSync(1, text);
    const hold = (ms = Infinity) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    import(${JSON.stringify(built('ledger-store'))}).then(async ({ openStore }) => {
      const store = openStore(${JSON.stringify(path)});
      renameSync(${JSON.stringify(file)}, ${JSON.stringify(ownerPath(path))});
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
  expect(() => openStore(path, { silenceMs: 10_000 })).toThrow(`in use by process ${self.pid} of another container`);
});

test('an owner that is in the midst of a commit keeps its directory, though it cannot renew the time either', async () => {
  const path = join(directory, `${places++}`);
  const asked = `${path}.asked`;
  const stalled = `${path}.stalled`;
  await startElsewhere(
    path,
    `
    say('open');
    while (!existsSync(${JSON.stringify(asked)})) hold(5);
    const { openCommitLock } = await import(${JSON.stringify(built('commit-lock'))});
    openCommitLock(${JSON.stringify(path)}).commit(() => {
      writeFileSync(${JSON.stringify(stalled)}, '');
      // The other process may be held up before it waits for this commit, and only then does the time count.
      const isAwaited = () => /-> FLOCK .* ${process.pid} /.test(readFileSync('/proc/locks', 'utf8'));
      while (existsSync('/proc/locks') && !isAwaited()) hold(5);
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
      if (naps > 12_000) throw new Error('the other process was never in the midst of a commit');
      Atomics.wait(nap, 0, 0, 5);
    }
    return ++looks > 1;
  };
  expect(() => openStore(path, { silenceMs: 0, watch })).toThrow(`in use by process ${self.pid} of another container`);
  expect(looks).toBe(2);
});

test('a holder that was taken for dead writes no more, makes no checkpoint, and leaves the claim of its successor alone', () => {
  const path = join(directory, `${places++}`);
  const store = openStore(path);
  note(store, 'mine', Buffer.from('1'));
  own(path, elsewhere);
  const checkpoint = readFileSync(join(path, 'log/checkpoint'));
  expect(() => note(store, 'mine', Buffer.from('2'))).toThrow('was taken over by another process');
  store.close();
  expect(readOwner(path)).toMatchObject(elsewhere);
  expect(readFileSync(join(path, 'log/checkpoint'))).toEqual(checkpoint);
  rmSync(ownerPath(path));
  const next = openStore(path);
  expect(Buffer.from(next.get('meta', Buffer.from('mine'))!).toString()).toBe('1');
  next.close();
});

test('each owner has a greater epoch than the one before', () => {
  const path = join(directory, `${places++}`);
  const epochs = [1, 2, 3].map(() => {
    const store = openStore(path);
    const { epoch } = readOwner(path)!;
    store.close();
    return epoch;
  });
  expect(epochs).toEqual([1, 2, 3]);
});

test('an owner that an earlier version has noted in the ledger is asked as well', async () => {
  const path = join(directory, `${places++}`);
  const store = openStore(path);
  note(store, 'owner', Buffer.from(JSON.stringify(identify(await start('')))));
  store.close();
  // Earlier versions have no log.
  rmSync(join(path, 'log'), { recursive: true });
  expect(() => openStore(path)).toThrow(/is in use by process \d+: stop it/);
  expect(existsSync(ownerPath(path))).toBe(false);
});

const oldest = formatsRead[0]!;
const formatOf = (of: LedgerStore) => of.get('meta', Buffer.from('format'))![0]!;

test.each(formatsRead)('a state of format %i is read, and is of this one from then on', format => {
  const path = join(directory, `${places++}`);
  const store = openStore(path, { silenceMs });
  note(store, 'format', Buffer.of(format));
  store.close();
  if (format !== formatVersion) rmSync(join(path, 'log'), { recursive: true });
  const again = openStore(path, { silenceMs });
  expect(formatOf(again)).toBe(formatVersion);
  again.close();
});

test('a state of another format is refused with what to do', () => {
  for (const [other, advice] of [
    [oldest - 1, `start it once with a version that reads ${oldest - 1} and ${oldest}, then with this one`],
    [formatVersion + 1, 'start the newer version that wrote it, or set state.path to a copy from before the upgrade'],
  ] as const) {
    const at = join(directory, `${places++}`);
    const written = openStore(at);
    note(written, 'format', Buffer.of(other));
    written.close();
    expect(() => openStore(at)).toThrow(
      `was written in state format ${other}; this version reads ${formatsReadText}: ${advice}`,
    );
  }
});

test('a process that only reads recovers a ledger that a crash has left', async () => {
  const path = join(directory, `${places++}`);
  await crashed(path);
  const reader = openReaderBeside(path);
  expect(Buffer.from(reader.get('names', Buffer.from('key'))!).toString()).toBe('value');
  expect(existsSync(ownerPath(path))).toBe(false);
  // A start after a clean stop does not wait for readers.
  openStore(path).close();
  reader.close();
});

test('a recovery waits for processes that read the ledger, then names them and changes nothing', async () => {
  const path = join(directory, `${places++}`);
  await crashed(path);
  openReaderBeside(path).close();
  const reader = await processWith(
    path,
    `
      const reader = ledger.openReaderBeside(path);
      console.log('reads');
      process.stdin.on('end', () => process.exit()).resume();`,
  );
  await crashed(path);
  expect(() => openStore(path, { readersMs: 50 })).toThrow(
    `${path} cannot be recovered while process ${reader.pid} reads it: end what reads it, and start again`,
  );
  expect(existsSync(ownerPath(path))).toBe(false);
  reader.kill('SIGKILL');
  await once(reader, 'exit');
  const store = openStore(path);
  expect(Buffer.from(store.get('names', Buffer.from('key'))!).toString()).toBe('value');
  store.close();
});

test('a process that reads sees each turn whole while the owner commits, makes checkpoints, and is copied', async () => {
  const path = join(directory, `${places++}`);
  const to = join(directory, `${places++}`);
  mkdirSync(to);
  const store = openStore(path);
  const commit = (turn: number) => {
    const batch = store.batch();
    for (const name of ['first', 'last']) batch.put('names', Buffer.from(name), Buffer.from(String(turn)));
    batch.put('names', Buffer.from(`filler ${turn % 7}`), Buffer.alloc(20_000, turn));
    store.commit(batch);
  };
  commit(0);
  const reader = await processWith(
    path,
    `
      const reader = ledger.openReaderBeside(path);
      const turnOf = name => Number(Buffer.from(reader.get('names', Buffer.from(name))));
      const seen = { torn: 0, back: 0, newest: 0 };
      let isOver = false;
      const look = () => {
        const wasOver = isOver;
        const turn = turnOf('first');
        if (turnOf('last') !== turn) seen.torn++;
        if (turn < seen.newest) seen.back++;
        seen.newest = turn;
        if (!wasOver) setImmediate(look);
        else process.stdout.write(JSON.stringify(seen), () => process.exit());
      };
      look();
      console.log('reads');
      process.stdin.on('end', () => { isOver = true; }).resume();`,
  );
  const turns = 300;
  let copied: Promise<unknown> | null = null;
  for (let turn = 1; turn <= turns; turn++) {
    commit(turn);
    if (turn % 30 === 0) store.checkpoint();
    if (turn === 100)
      copied = processWith(
        path,
        `
          const { copyLedger } = await import(${JSON.stringify(built('copies'))});
          await copyLedger(path, ${JSON.stringify(to)});
          console.log('copied');`,
      );
    // Lets the process of the copy start.
    await new Promise(setImmediate);
  }
  await copied;
  reader.stdin.end();
  const [said] = await once(reader.stdout, 'data');
  expect(JSON.parse(String(said))).toEqual({ torn: 0, back: 0, newest: turns });
  store.close();
  const copy = openStore(to);
  expect(copy.get('names', Buffer.from('first'))).toEqual(copy.get('names', Buffer.from('last')));
  copy.close();
});

/** Runs the code in a process, with the module `ledger` and the `path` of a ledger. Resolves once it has printed a line. */
async function processWith(path: string, code: string): Promise<ChildProcessByStdio<Writable, Readable, null>> {
  const whole = `const ledger = await import(${JSON.stringify(built('ledger-store'))}); const path = process.argv[1]; ${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', whole, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

/** A process commits, and is killed. */
async function crashed(path: string): Promise<void> {
  const writer = await processWith(
    path,
    `
      const store = ledger.openStore(path);
      const batch = store.batch();
      batch.put('names', Buffer.from('key'), Buffer.from('value'));
      store.commit(batch);
      console.log('committed');
      setInterval(() => {}, 1000);`,
  );
  writer.kill('SIGKILL');
  await once(writer, 'exit');
}

test('the sign of life is a file of its own', async () => {
  const path = join(directory, `${places++}`);
  const store = openStore(path);
  await until(
    'it shows life',
    () => statSync(join(path, 'alive')).mtimeMs !== statSync(join(path, 'alive')).birthtimeMs,
  );
  store.close();
});
