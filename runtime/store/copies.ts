// Copies of the ledger and of the index: how they are made while a service writes, and how a copy is read.
import { chmodSync, closeSync, fsyncSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openCommitLock } from './commit-lock.ts';
import { damageOf, StoreDamaged } from './damage.ts';
import { formatIn } from './format.ts';
import {
  indexPath,
  openChecked,
  openEnvironment,
  openSheets,
  ownerKey,
  readerOf,
  type Sheets,
  storeOf,
  tryFiles,
} from './lmdb.ts';
import { indexTables, type Reader, type Store, StoreFault, type Table, tables } from './store.ts';

/** The file of a copy, in the directory of the copy. */
export const copyName = 'data.mdb';

/**
 * Copies the ledger into an existing directory, as of one commit and without free pages. The copy is on disk when this resolves. Until then
 * the ledger reuses no page that was in use at the beginning. Another process may
 * own the ledger. Throws StoreFault if the copy cannot be written.
 */
export async function copyLedger(path: string, to: string): Promise<void> {
  const lock = openCommitLock(path);
  try {
    await copy(
      lock.open(() => openChecked(path, tables)),
      to,
    );
  } finally {
    lock.close();
  }
}

/** Copies the index likewise. No other process may have the index open. */
export async function copyIndex(path: string, to: string): Promise<void> {
  await copy(openSheets(indexPath(path), indexTables), to);
}

async function copy<T extends string>({ env }: Sheets<T>, to: string): Promise<void> {
  const file = join(to, copyName);
  try {
    await env.backup(to, true);
  } catch (error) {
    // LMDB's errors have no code.
    throw new StoreFault(`${file} cannot be written: ${(error as Error).message}`);
  } finally {
    await env.close();
  }
  chmodSync(file, 0o600);
  syncFile(file);
}

/** Writes the contents of a file to disk. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A copy that is only read. `close` resolves when nothing of it is open. */
export type LedgerCopy = { readonly reader: Reader; close(): Promise<void> };

/** Opens a copy of the ledger, which stays as it is. Throws StoreDamaged if its file is damaged. */
export function openCopy(directory: string): LedgerCopy {
  const file = join(directory, copyName);
  const damage = damageOf(file);
  if (damage !== null) throw new StoreDamaged(directory, file, damage);
  const lock = join(directory, 'lock.mdb');
  const hadLock = statSync(lock, { throwIfNoEntry: false }) !== undefined;
  const env = openEnvironment(directory, tables.length, true);
  const of = Object.fromEntries(tables.map(name => [name, databaseOf(env, name)])) as Sheets<Table>['of'];
  return {
    reader: readerOf({ env, of }),
    async close() {
      await env.close();
      if (!hadLock) rmSync(lock, { force: true });
    },
  };
}

/** The format of a ledger, which is not changed. Null: no service has started on it. */
export async function readFormat(path: string): Promise<number | null> {
  const file = join(path, copyName);
  const damage = damageOf(file);
  if (damage !== null) throw new StoreDamaged(path, file, damage);
  tryFiles(path);
  const lock = openCommitLock(path);
  try {
    const env = lock.open(() => openEnvironment(path, 1, true));
    try {
      return formatIn(readerOf({ env, of: { meta: databaseOf(env, 'meta') } as Sheets<Table>['of'] }));
    } finally {
      await env.close();
    }
  } finally {
    lock.close();
  }
}

/** Changes a copy that nothing else has open: it then has no owner, and what `change` commits. */
export async function changeCopy(directory: string, change: (store: Store) => void): Promise<void> {
  const sheets = openSheets(directory, tables);
  try {
    const store = storeOf(sheets, directory);
    const batch = store.batch();
    batch.remove('meta', ownerKey);
    store.commit(batch);
    change(store);
  } finally {
    await sheets.env.close();
  }
  syncFile(join(directory, copyName));
}

/** The database of a table. A copy of an earlier version may lack it; then it is empty. */
function databaseOf(env: Sheets<Table>['env'], name: Table): Sheets<Table>['of'][Table] {
  try {
    return env.openDB<Uint8Array, Uint8Array>({ name, encoding: 'binary', keyEncoding: 'binary' });
  } catch (error) {
    if ((error as Error).message !== 'Database not found') throw error;
    return noDatabase;
  }
}

const noDatabase = {
  getBinaryFast: () => undefined,
  getRange: () => [],
  getKeys: () => [],
  db: { stat: () => ({ entryCount: 0 }) },
} as never;
