// The stores that a random ledger can lie in: in memory, for many runs, and on disk, for some.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIndexStore } from '../../../runtime/store/index-store.ts';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import type { IndexTable, Store } from '../../../runtime/store/store.ts';
import { cyclesOf } from '../../support/deep.ts';
import { openMemoryIndex, openMemoryStore } from '../../support/memory-store.ts';

export type Storage = { readonly store: Store; readonly index: Store<IndexTable>; close(): void };

export const storages: readonly [name: string, runs: number, open: () => Storage][] = [
  [
    'memory',
    cyclesOf({ deep: 300, quick: 40 }),
    () => ({ store: openMemoryStore(), index: openMemoryIndex(), close() {} }),
  ],
  ['disk', cyclesOf({ deep: 8, quick: 4 }), openDisk],
];

function openDisk(): Storage {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-lists-'));
  const store = openStore(directory);
  const index = openIndexStore(directory, (damage: string) => {
    throw new Error(damage);
  });
  return {
    store,
    index,
    close() {
      store.close();
      index.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
