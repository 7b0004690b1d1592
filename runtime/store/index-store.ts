// The index on disk: a store of its own beside the ledger. It can be rebuilt from the ledger at any time.
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { StoreDamaged } from './damage.ts';
import { type Lmdb, openChecked } from './lmdb.ts';
import { type IndexTable, indexTables, type Store } from './store.ts';
import { syncedStore } from './synced-store.ts';

/** The format of the index. An index of another format is rebuilt from the ledger. */
const indexFormatVersion = 2;
/** An unusable index is moved to a directory whose name begins with this prefix. The directory is kept until another index is moved. */
const asidePrefix = 'search-aside-';
/** LMDB's error codes for a damaged file: PAGE_NOTFOUND, CORRUPTED, VERSION_MISMATCH, INVALID and INCOMPATIBLE. */
const damageCodes = new Set<unknown>([-30797, -30796, -30794, -30793, -30784]);

/**
 * Opens the index for the indexer. An index that is damaged, has another format or is not a directory is moved away and replaced by an empty
 * one; `warn` gets the reason and the new path. Any other error is thrown, and the index stays as it is.
 */
export function openIndexStore(path: string, warn: (reason: string, setAside: string) => void): Store<IndexTable> {
  const reason = unusable(path);
  if (typeof reason !== 'string') return syncedStore(reason, indexPath(path));
  warn(reason, setAsideIndex(path));
  const lmdb = openChecked(indexPath(path), indexTables);
  formatIn(lmdb);
  return syncedStore(lmdb, indexPath(path));
}

/** Opens the index if it is usable; otherwise returns the reason why it is not. */
function unusable(path: string): Lmdb<IndexTable> | string {
  if (statSync(indexPath(path), { throwIfNoEntry: false })?.isDirectory() === false) return 'it is not a directory';
  try {
    const lmdb = openChecked(indexPath(path), indexTables);
    const format = formatIn(lmdb);
    if (format === indexFormatVersion) return lmdb;
    void lmdb.env.close();
    return `it has format ${format}; this version needs ${indexFormatVersion}`;
  } catch (error) {
    if (error instanceof StoreDamaged) return error.damage;
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    if (damageCodes.has(code)) return message;
    throw error;
  }
}

export function indexPath(path: string): string {
  return join(path, 'search');
}

export function indexFile(path: string): string {
  return join(indexPath(path), 'data.mdb');
}

/** Moves the index away, so that no data is lost and readers keep their file. Removes the index that was moved away before. */
function setAsideIndex(path: string): string {
  for (const name of readdirSync(path)) {
    if (name.startsWith(asidePrefix)) rmSync(join(path, name), { recursive: true, force: true });
  }
  const to = join(path, `${asidePrefix}${new Date().toISOString().replaceAll(/[-:]/g, '')}`);
  renameSync(indexPath(path), to);
  return to;
}

/** Returns the format of the index. Gives an empty index the format of this version. */
function formatIn({ env, databases }: Lmdb<IndexTable>): number {
  const key = Buffer.from('format');
  return env.transactionSync(() => {
    const format = databases.positions.get(key);
    if (!format) databases.positions.put(key, Buffer.from([indexFormatVersion]));
    return format?.[0] ?? indexFormatVersion;
  });
}
