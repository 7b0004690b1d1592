// Damaged files that LMDB must not map are recognized before they are mapped, and sound files are never taken for damaged ones.
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, test } from 'vitest';
import { readCopy } from '../../../runtime/store/copies.ts';
import { damageOf, StoreDamaged } from '../../../runtime/store/damage.ts';
import { openIndexStore } from '../../../runtime/store/index-store.ts';
import { hasLedger, openReaderBeside, openStore } from '../../../runtime/store/ledger-store.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { cyclesOf } from '../../support/deep.ts';
import { fc } from '../../support/seed.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-damage-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const pageBytes = 4096;
const sound = join(directory, 'sound');
fill(sound);

/** A ledger with branches, leaves and values that have pages of their own. */
function fill(path: string): void {
  const store = openStore(path);
  for (let round = 0; round < 3; round++) put(store, round, 100);
  // The pages of this value are the last ones of the file.
  const batch = store.batch();
  batch.put('bodies', Buffer.from('large'), Buffer.alloc(500_000));
  store.commit(batch);
  store.close();
}

function put(store: Store, round: number, records: number): void {
  const batch = store.batch();
  for (let i = 0; i < records; i++) batch.put('attempts', Buffer.from(`${round}-${i}`), Buffer.alloc((i * 37) % 9000));
  store.commit(batch);
}

/** A copy of the sound ledger with this done to its file. */
function damaged(name: string, damage: (file: string) => void): string {
  const path = join(directory, name.replaceAll(/\W/g, '_'));
  mkdirSync(path);
  const file = join(path, 'data.mdb');
  copyFileSync(join(sound, 'data.mdb'), file);
  damage(file);
  return path;
}

function overwrite(file: string, at: number, bytes: Uint8Array): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}

/** The root of the directory of databases, as the newest meta page has it. */
function mainRoot(file: string): number {
  const bytes = readFileSync(file);
  const metas = [0, pageBytes].map(at => ({
    txn: bytes.readBigUInt64LE(at + 152),
    root: bytes.readBigUInt64LE(at + 136),
  }));
  return Number(metas.toSorted((a, b) => Number(b.txn - a.txn))[0]!.root);
}

const cases: readonly (readonly [name: string, damage: (file: string) => void, message: RegExp])[] = [
  ['something else', file => writeFileSync(file, 'hello\n'), /does not begin with the header of an LMDB database/],
  ['two random pages', file => overwrite(file, 0, randomBytes(2 * pageBytes)), /does not begin/],
  ['one random meta page', file => overwrite(file, pageBytes, randomBytes(pageBytes)), /second meta page is damaged/],
  ['a meta page of zeros', file => overwrite(file, pageBytes, Buffer.alloc(pageBytes)), /second meta page is damaged/],
  ['another version', file => overwrite(file, 28, Buffer.of(1)), /its LMDB format has version 1, not 2/],
  ['an impossible page size', file => overwrite(file, 48, Buffer.of(1, 2)), /page size of 513 bytes is invalid/],
  [
    'the last page cut off',
    file => truncateSync(file, statSync(file).size - pageBytes),
    /it was cut off: page \d+ is missing/,
  ],
  ['four pages left', file => truncateSync(file, 4 * pageBytes), /it was cut off: page \d+ is missing/],
  ['one meta page left', file => truncateSync(file, pageBytes), /second meta page is damaged/],
  [
    'a random root',
    file => overwrite(file, mainRoot(file) * pageBytes, randomBytes(pageBytes)),
    /its page \d+ is of the wrong kind/,
  ],
  [
    'a root far away',
    file => {
      for (const at of [136, pageBytes + 136]) overwrite(file, at, Buffer.alloc(6, 1));
    },
    /refers to page \d+, which does not exist/,
  ],
];

test.each(cases)('a ledger with %s is not opened, and not touched', (name, damage, message) => {
  const path = damaged(name, damage);
  const file = join(path, 'data.mdb');
  const before = readFileSync(file);
  expect(damageOf(file)).toMatch(message);
  expect(() => openStore(path)).toThrow(StoreDamaged);
  expect(() => openReaderBeside(path)).toThrow(`${file} is damaged: `);
  expect(readFileSync(file).equals(before)).toBe(true);
});

test('a missing and an empty file are none of them: the store is created', async () => {
  const path = join(directory, 'empty');
  mkdirSync(path);
  expect(damageOf(join(path, 'data.mdb'))).toBe(null);
  writeFileSync(join(path, 'data.mdb'), '');
  expect(damageOf(join(path, 'data.mdb'))).toBe(null);
  expect(hasLedger(path)).toBe(false);
  await expect(readCopy(path, () => {})).rejects.toThrow(
    `${join(path, 'data.mdb')} is damaged: it is missing or empty`,
  );
  openStore(path).close();
  expect(hasLedger(path)).toBe(true);
});

test('an empty file with a checkpoint is not opened, and stays empty', () => {
  const path = damaged('lost contents', () => {});
  openStore(path).close();
  const file = join(path, 'data.mdb');
  writeFileSync(file, '');
  const message = `${file} is damaged: it is missing or empty, although it has a checkpoint`;
  expect(() => openReaderBeside(path)).toThrow(message);
  expect(() => openStore(path)).toThrow(message);
  expect(statSync(file).size).toBe(0);
});

test('a file that lacks only pages that were never used is opened', () => {
  const path = damaged('free end', () => {});
  const file = join(path, 'data.mdb');
  const store = openStore(path);
  const large = store.batch();
  large.put('names', Buffer.from('large'), Buffer.alloc(100 * pageBytes));
  store.commit(large);
  const remove = store.batch();
  remove.remove('names', Buffer.from('large'));
  store.commit(remove);
  store.close();
  truncateSync(file, statSync(file).size - 50 * pageBytes);
  expect(damageOf(file)).toBe(null);
  openStore(path).close();
});

it('finds nothing wrong with what any commits leave, while it is open and after', () => {
  const path = join(directory, 'random');
  const file = join(path, 'data.mdb');
  const write = fc.record({ key: fc.nat(60), bytes: fc.option(fc.nat(30_000), { nil: undefined }) });
  let store = openStore(path);
  fc.assert(
    fc.property(fc.array(fc.array(write, { maxLength: 30 }), { maxLength: 6 }), fc.boolean(), (commits, reopens) => {
      for (const writes of commits) {
        const batch = store.batch();
        for (const { key, bytes } of writes) {
          if (bytes === undefined) batch.remove('bodies', Buffer.from([key]));
          else batch.put('bodies', Buffer.from([key]), Buffer.alloc(bytes));
        }
        store.commit(batch);
        expect(damageOf(file)).toBe(null);
      }
      if (!reopens) return;
      store.close();
      expect(damageOf(file)).toBe(null);
      store = openStore(path);
    }),
    { numRuns: cyclesOf({ deep: 60, quick: 20 }) },
  );
  store.close();
});

test.each(cases)('an index with %s is built again, and that is said', (name, damage) => {
  const path = join(directory, `index_${name.replaceAll(/\W/g, '_')}`);
  const file = join(path, 'search/data.mdb');
  openIndexStore(path, expect.fail).close();
  const store = openIndexStore(path, expect.fail);
  const batch = store.batch();
  for (let i = 0; i < 200; i++) batch.put('logs', Buffer.from(`${i}`), Buffer.alloc(100));
  store.commit(batch);
  store.close();
  damage(file);
  const said: string[] = [];
  const again = openIndexStore(path, text => void said.push(text));
  expect(again.count('logs')).toBe(0);
  again.close();
  expect(said).toHaveLength(1);
});

test('a state directory may have a dot in its name', () => {
  const path = join(directory, 'state.v2');
  openStore(path).close();
  expect(statSync(join(path, 'data.mdb')).size).toBeGreaterThan(0);
});
