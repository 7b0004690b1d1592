// One contract, two stores: what LMDB answers, the naive store of the simulator answers too.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openStore } from '../../runtime/store/lmdb.ts';
import { openMemoryStore } from '../../runtime/store/memory.ts';
import type { Range, Store } from '../../runtime/store/store.ts';
import { fc } from '../seed.ts';

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
        for (const each of ranges as Range[]) expect(read(disk, each)).toEqual(read(naive, each));
      },
    ),
    { numRuns: 60 },
  );
});

it('gives values that stay as they are when the key is written again', () => {
  const at = Buffer.from('stay');
  apply(disk, [{ key: at, value: Buffer.from('one') }]);
  const before = disk.get('names', at)!;
  apply(disk, [{ key: at, value: Buffer.from('two') }]);
  expect(Buffer.from(before).toString()).toBe('one');
  expect(Buffer.from(disk.get('names', at)!).toString()).toBe('two');
});
