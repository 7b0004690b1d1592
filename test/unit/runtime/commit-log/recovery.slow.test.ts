// The checkpoints of a ledger that is open: when they are made, what they free, and what a start after them has to do.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readCheckpoint } from '../../../../runtime/commit-log/checkpoint-file.ts';
import { readLog } from '../../../../runtime/commit-log/log-reader.ts';
import { listSegments, segmentPath } from '../../../../runtime/commit-log/segments.ts';
import { StoreDamaged } from '../../../../runtime/store/damage.ts';
import { type LedgerStore, openReaderBeside, openStore } from '../../../../runtime/store/ledger-store.ts';
import { StoreFault } from '../../../../runtime/store/store.ts';
import { until } from '../../../service/gateway/until.ts';

const scratch = mkdtempSync(join(tmpdir(), 'headgate-recovery-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const mib = 2 ** 20;
const sizes = { segmentBytes: mib, churnBytes: 1024 * mib };

function newPath(): string {
  return mkdtempSync(join(scratch, 'state-'));
}

function commit(store: LedgerStore, name: string, bytes = 100, table: 'names' | 'bodies' = 'names'): void {
  const batch = store.batch();
  batch.put(table, Buffer.from(name), Buffer.alloc(bytes, name));
  store.commit(batch);
}

/** The state as a kill would leave it now. */
function copyOf(path: string): string {
  const copy = newPath();
  cpSync(path, copy, { recursive: true });
  rmSync(join(copy, 'owner'));
  return copy;
}

/** How many bytes of the log a start on this state applies. */
function replayed(path: string): number {
  const log = join(path, 'log');
  const turns = readLog(listSegments(log), readCheckpoint(log)!);
  return Array.from(turns, ({ bytes }) => bytes.length).reduce((sum, bytes) => sum + bytes, 0);
}

function namesIn(path: string): string[] {
  const store = openStore(path);
  const names = Array.from(store.keys('names', {}), key => Buffer.from(key).toString());
  store.close();
  return names;
}

test('a checkpoint follows each segment of log, on another thread; a start applies only what follows it', async () => {
  const path = newPath();
  const store = openStore(path, { log: sizes });
  const first = readCheckpoint(join(path, 'log'))!.number;
  const names: string[] = [];
  for (let n = 10; n < 50; n++) {
    names.push(`n${n}`);
    commit(store, `n${n}`, 100_000);
    // Gives the checkpoint time between turns.
    await new Promise(resolve => void setImmediate(resolve));
  }
  await until('it is complete', () => readCheckpoint(join(path, 'log'))!.number > first + 1);
  expect(namesIn(copyOf(path))).toEqual(names);
  store.close();
});

test('turns wait for a checkpoint so that a start applies at most two segments and a turn', () => {
  const path = newPath();
  const store = openStore(path, { log: sizes });
  for (let n = 0; n < 60; n++) {
    commit(store, `n${n}`, 100_000);
    expect(replayed(path)).toBeLessThanOrEqual(2 * mib + 200_000);
  }
  expect(listSegments(join(path, 'log')).length).toBeLessThanOrEqual(5);
  const copy = copyOf(path);
  store.close();
  expect(namesIn(copy)).toHaveLength(60);
});

test('the data file stays small, however much is written to it', async () => {
  const path = newPath();
  const store = openStore(path, { log: { segmentBytes: 64 * mib, churnBytes: mib } });
  for (let n = 0; n < 4_000; n++) {
    commit(store, `n${n % 50}`, 100);
    await new Promise(resolve => void setImmediate(resolve));
  }
  expect(statSync(join(path, 'data.mdb')).size).toBeLessThan(5 * mib);
  store.close();
});

const built = new URL('../../../../dist/runtime/store/ledger-store.js', import.meta.url).href;
const killedReader = `
  const { openReaderBeside } = await import('${built}');
  openReaderBeside(process.argv[1]).get('names', Buffer.from('n0'));
  process.kill(process.pid, 'SIGKILL');
`;

test('the data file stays small after a process that read it was killed', async () => {
  const path = newPath();
  const store = openStore(path, { log: { segmentBytes: mib, churnBytes: mib } });
  const write = async (times: number) => {
    for (let n = 0; n < times; n++) {
      commit(store, `n${n % 200}`, 1_000);
      await new Promise(resolve => void setImmediate(resolve));
    }
  };
  await write(200);
  const reader = spawnSync(process.execPath, ['--input-type=module', '-e', killedReader, path], { encoding: 'utf8' });
  expect([reader.signal, reader.stderr]).toEqual(['SIGKILL', '']);
  await write(600);
  expect(statSync(join(path, 'data.mdb')).size).toBeLessThan(5 * mib);
  store.close();
});

test('what is written to the data file makes a checkpoint due as well', () => {
  const path = newPath();
  const store = openStore(path, { log: { segmentBytes: 64 * mib, churnBytes: mib } });
  const { number } = readCheckpoint(join(path, 'log'))!;
  for (let n = 0; n < 200; n++) commit(store, `n${n % 50}`, 20_000);
  expect(readCheckpoint(join(path, 'log'))!.number).toBeGreaterThan(number);
  const copy = copyOf(path);
  store.close();
  expect(namesIn(copy)).toHaveLength(50);
});

test('a turn of many segments is whole after a kill, and its segments are used again', () => {
  const path = newPath();
  const store = openStore(path, { log: sizes });
  commit(store, 'large', 9 * mib, 'bodies');
  const copy = copyOf(path);
  commit(store, 'after');
  store.close();
  const again = openStore(copy);
  expect(again.get('bodies', Buffer.from('large'))!.length).toBe(9 * mib);
  again.close();
});

test('a clean stop leaves nothing to apply, and a start after it is quick to have its segments', () => {
  const path = newPath();
  for (let n = 0; n < 5; n++) {
    const store = openStore(path, { log: sizes });
    commit(store, `n${n}`);
    store.close();
    expect(readCheckpoint(join(path, 'log'))).toMatchObject({ isClean: true, lsn: n + 1 });
    expect(listSegments(join(path, 'log')).length).toBeLessThanOrEqual(3);
  }
  expect(namesIn(path)).toEqual(['n0', 'n1', 'n2', 'n3', 'n4']);
});

/** A state that was killed after three turns. */
function killed(): string {
  const path = newPath();
  const store = openStore(path, { log: sizes });
  for (const name of ['one', 'two', 'three']) commit(store, name);
  const copy = copyOf(path);
  store.close();
  return copy;
}

test('damage in the log is refused until the operator gives up what follows it; the old log is kept', () => {
  const path = killed();
  const [segment] = listSegments(join(path, 'log'));
  const bytes = readFileSync(segment!.path);
  // A bit of the second turn.
  bytes[600]! ^= 1;
  writeFileSync(segment!.path, bytes);
  for (let n = 0; n < 2; n++)
    expect(() => openStore(path)).toThrow(/turn 2 cannot be read, but turn 3 after it can; .* state repair --until 1/);
  expect(() => openReaderBeside(path)).toThrow('turn 2 cannot be read');
  expect(() => openStore(path, { until: 2 })).toThrow(StoreFault);
  openStore(path, { until: 1 }).close();
  expect(namesIn(path)).toEqual(['one']);
  const [aside] = readdirSync(path).filter(name => name.startsWith('log-aside-'));
  expect(readFileSync(segmentPath(join(path, aside!), segment!.number))).toEqual(bytes);
});

test.each<[string, (path: string) => void, string]>([
  ['a checkpoint that is missing', path => rmSync(join(path, 'log/checkpoint')), 'has a commit log but no checkpoint'],
  [
    'a checkpoint that is damaged',
    path => {
      const file = join(path, 'log/checkpoint');
      const bytes = readFileSync(file);
      bytes[bytes.length - 100]! ^= 1;
      writeFileSync(file, bytes);
    },
    'checkpoint is damaged: its checksum is wrong',
  ],
  ['a data file that is missing', path => rmSync(join(path, 'data.mdb')), 'it is missing or empty'],
  ['a data file that is empty', path => writeFileSync(join(path, 'data.mdb'), ''), 'it is missing or empty'],
  [
    'a data file that is none',
    path => writeFileSync(join(path, 'data.mdb'), 'hello\n'),
    'does not begin with the header',
  ],
  [
    'a first segment that is missing',
    path => rmSync(listSegments(join(path, 'log'))[0]!.path),
    'is missing: restore the',
  ],
])('%s is refused, and nothing is changed', (_, damage, message) => {
  const path = killed();
  damage(path);
  const before = contents(path);
  expect(() => openStore(path)).toThrow(message);
  expect(() => openStore(path)).toThrow(StoreFault);
  expect(contents(path)).toEqual(before);
});

test('a data file that is older than its checkpoint is refused', () => {
  const path = newPath();
  openStore(path).close();
  const old = readFileSync(join(path, 'data.mdb'));
  const store = openStore(path);
  commit(store, 'one');
  store.close();
  writeFileSync(join(path, 'data.mdb'), old);
  expect(() => openStore(path)).toThrow(StoreDamaged);
  expect(() => openStore(path)).toThrow('it is older than its checkpoint');
});

function contents(path: string): [string, number, string][] {
  const names = readdirSync(path, { recursive: true }) as string[];
  return names
    .filter(name => /^(data\.mdb|log\/.*)$/.test(name) && statSync(join(path, name)).isFile())
    .map(name => [name, statSync(join(path, name)).size, readFileSync(join(path, name)).toString('base64')]);
}
