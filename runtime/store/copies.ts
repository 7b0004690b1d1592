// Makes copies of the ledger and of the index, and opens and changes copies of the ledger. The ledger can be copied while a service writes it.
import { chmodSync, fsyncSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readCheckpoint } from '../commit-log/checkpoint-file.ts';
import { withFile } from '../durable-file.ts';
import { logDirectoryOf } from './checkpoints.ts';
import { openCommitLock } from './commit-lock.ts';
import { damageOf, hasPages, StoreDamaged } from './damage.ts';
import { formatIn } from './format.ts';
import { indexFile, indexPath } from './index-store.ts';
import { legacyOwnerKey } from './ledger-recovery.ts';
import { openBeside } from './ledger-store.ts';
import { assertSound, type Lmdb, openLmdb, openReadOnly, readerOf } from './lmdb.ts';
import { indexTables, type Reader, type Store, StoreFault, tables } from './store.ts';
import { syncedStore } from './synced-store.ts';

/** The name of the data file in the directory of a copy. */
export const copyName = 'data.mdb';

/**
 * Copies the ledger into an existing directory, as of one commit and without free pages. The copy is on disk when the promise resolves.
 * Until then the ledger reuses no page that was in use at the beginning. Another process may own the ledger. If no process owns the ledger,
 * and its last stop was not clean, it is recovered first. Throws StoreFault if the copy cannot be written, or the ledger cannot be opened.
 */
export async function copyLedger(path: string, to: string): Promise<void> {
  const { lmdb, leave } = openBeside(path);
  try {
    await copy(lmdb, to);
  } finally {
    leave();
  }
}

/**
 * Copies the index as `copyLedger` copies the ledger. No other process may have the index open. Throws StoreFault if the index is damaged.
 */
export async function copyIndex(path: string, to: string): Promise<void> {
  const file = indexFile(path);
  const damage = damageOf(file);
  const remedy = `remove ${indexPath(path)}, or leave out --with-index: a restore rebuilds the index`;
  if (damage !== null) throw new StoreFault(`${file} is damaged: ${damage}; ${remedy}`);
  await copy(openLmdb(indexPath(path), indexTables, 'synced'), to);
}

async function copy<T extends string>({ env }: Lmdb<T>, to: string): Promise<void> {
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

/** Makes sure that the contents of a file are on disk. */
export function syncFile(path: string): void {
  withFile(path, 'r+', fsyncSync);
}

/** Reads a copy of the ledger without changing the copy. Throws StoreDamaged if its file is damaged. */
export async function readCopy<T>(directory: string, read: (reader: Reader) => T | Promise<T>): Promise<T> {
  const file = join(directory, copyName);
  const damage = hasPages(file) ? damageOf(file) : 'it is missing or empty';
  if (damage !== null) throw new StoreDamaged(directory, file, damage);
  const lock = join(directory, 'lock.mdb');
  const hadLock = statSync(lock, { throwIfNoEntry: false }) !== undefined;
  const lmdb = openReadOnly(directory, tables);
  try {
    return await read(readerOf(lmdb));
  } finally {
    await lmdb.env.close();
    if (!hadLock) rmSync(lock, { force: true });
  }
}

/** Reads the format of a ledger that has records, without changing the ledger. Null: no process has ever opened the ledger for writing. */
export async function readFormat(path: string): Promise<number | null> {
  const checkpoint = readCheckpoint(logDirectoryOf(path));
  if (checkpoint !== null) return checkpoint.format;
  assertSound(path);
  const lock = openCommitLock(path);
  try {
    const lmdb = lock.open(() => openReadOnly(path, ['meta'] as const));
    try {
      return formatIn(readerOf(lmdb) as Reader);
    } finally {
      await lmdb.env.close();
    }
  } finally {
    lock.close();
  }
}

/**
 * Lets `change` write to a copy that nothing else has open, and removes the owner that versions without a commit log stored in the ledger.
 */
export async function changeCopy(directory: string, change: (store: Store) => void): Promise<void> {
  const lmdb = openLmdb(directory, tables, 'synced');
  try {
    const store = syncedStore(lmdb, directory);
    const batch = store.batch();
    batch.remove('meta', legacyOwnerKey);
    store.commit(batch);
    change(store);
  } finally {
    await lmdb.env.close();
  }
  syncFile(join(directory, copyName));
}
