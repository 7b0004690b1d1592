// One contract, two stores: the naive store of the simulator answers as LMDB does.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import { type Batch, type Range, type Store, StoreFull } from '../../../runtime/store/store.ts';
import { cyclesOf } from '../../support/deep.ts';
import { openMemoryStore } from '../../support/memory-store.ts';
import { fc } from '../../support/seed.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-store-'));
const disk = openStore(directory);
afterAll(() => {
  disk.close();
  rmSync(directory, { recursive: true, force: true });
});

const key = fc.uint8Array({ minLength: 1, maxLength: 4 });
const write = fc.record({ key, value: fc.option(fc.uint8Array({ maxLength: 40 }), { nil: undefined }) });
const range = fc.record(
  { from: key, to: key, reverse: fc.boolean(), limit: fc.integer({ min: 1, max: 5 }) },
  { requiredKeys: [] },
);

function apply(store: Store, writes: readonly { key: Uint8Array; value: Uint8Array | undefined }[]): void {
  const batch = store.batch();
  for (const { key, value } of writes) {
    if (value) batch.put('names', key, value);
    else batch.remove('names', key);
  }
  store.commit(batch);
  store.refresh();
}

function read(store: Store, range: Range): [string, string][] {
  return [...store.scan('names', range)].map(({ key, value }) => [hex(key), hex(value)]);
}

function keysOf(store: Store, range: Range): string[] {
  return Array.from(store.keys('names', range), hex);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

it('answers reads and scans like a sorted map, after any commits', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(write, { maxLength: 20 }), { maxLength: 4 }),
      fc.array(range, { maxLength: 8 }),
      (commits, ranges) => {
        const naive = openMemoryStore();
        apply(
          disk,
          read(disk, {}).map(([found]) => ({ key: Buffer.from(found, 'hex'), value: undefined })),
        );
        for (const writes of commits) {
          apply(disk, writes);
          apply(naive, writes);
        }
        expect(read(disk, {})).toEqual(read(naive, {}));
        for (const each of ranges as Range[]) {
          expect(read(disk, each)).toEqual(read(naive, each));
          for (const store of [disk, naive])
            expect(keysOf(store, each)).toEqual(read(naive, each).map(([found]) => found));
        }
      },
    ),
    { numRuns: cyclesOf({ deep: 60, quick: 10 }) },
  );
});

it('gives a value that is only peeked at until the next read', () => {
  for (const store of [disk, openMemoryStore()]) {
    for (const length of [0, 5, 5_000_000]) {
      apply(store, [{ key: Buffer.from('peeked'), value: Buffer.alloc(length, 7) }]);
      expect(Buffer.alloc(length, 7).equals(store.peek('names', Buffer.from('peeked'))!)).toBe(true);
    }
    expect(store.peek('names', Buffer.from('nothing'))).toBe(undefined);
  }
});

it('gives values that stay as they are when the key is written again', () => {
  const at = Buffer.from('stay');
  apply(disk, [{ key: at, value: Buffer.from('one') }]);
  const before = disk.get('names', at)!;
  apply(disk, [{ key: at, value: Buffer.from('two') }]);
  expect(Buffer.from(before).toString()).toBe('one');
  expect(Buffer.from(disk.get('names', at)!).toString()).toBe('two');
});

type Write = { readonly key: Uint8Array; readonly value: Uint8Array | undefined };

function batchOf(store: Store, writes: readonly Write[]): Batch {
  const batch = store.batch();
  for (const { key, value } of writes) {
    if (value) batch.put('names', key, value);
    else batch.remove('names', key);
  }
  return batch;
}

/** All that can be read of the table, and of these keys. */
function allReads(store: Store, writes: readonly Write[]): object {
  return {
    scanned: read(store, {}),
    keys: [...store.keys('names', {})].map(hex),
    count: store.count('names'),
    got: writes.map(({ key }) => store.get('names', key)).map(value => value && hex(value)),
  };
}

describe.each<[string, () => Store]>([
  ['on disk', () => disk],
  ['in memory', openMemoryStore],
])('a batch %s', (_, open) => {
  it('shows in no read before its commit, and in the next one after it', () => {
    fc.assert(
      fc.property(fc.array(write, { maxLength: 10 }), fc.array(write, { maxLength: 10 }), (earlier, writes) => {
        const store = open();
        apply(store, earlier);
        const before = allReads(store, writes);
        const batch = batchOf(store, writes);
        expect(allReads(store, writes)).toEqual(before);
        store.refresh();
        expect(allReads(store, writes)).toEqual(before);
        store.commit(batch);
        const last = new Map(writes.map(({ key, value }) => [hex(key), value && hex(value)]));
        for (const { key } of writes) {
          const value = store.get('names', key);
          expect(value && hex(value)).toBe(last.get(hex(key)));
        }
        const after = allReads(store, writes);
        store.refresh();
        expect(allReads(store, writes)).toEqual(after);
      }),
      { numRuns: cyclesOf({ deep: 40, quick: 4 }) },
    );
  });
});

it('leaves nothing of a batch whose commit fails', () => {
  const path = mkdtempSync(join(tmpdir(), 'headgate-store-'));
  const failing = openStore(path);
  const tooLong = { key: Buffer.alloc(5_000), value: Buffer.from('x') };
  const full = openMemoryStore(() => {
    throw new StoreFull('no room');
  });
  const fine = { key: Buffer.from('fine'), value: Buffer.from('x') };
  for (const store of [failing, full]) {
    expect(() => store.commit(batchOf(store, [fine, tooLong]))).toThrow();
    expect(allReads(store, [fine])).toEqual({ scanned: [], keys: [], count: 0, got: [undefined] });
  }
  failing.close();
  rmSync(path, { recursive: true });
});
