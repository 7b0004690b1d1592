// Opens LMDB environments, and reads and writes them. A store is an environment with a database for each table. No other file imports the
// library.

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { makeDirectory, replaceFile } from '../durable-file.ts';
import type { WriteBatch } from './batch.ts';
import { damageOf, hasPages, StoreDamaged } from './damage.ts';
import type { Range, Reader } from './store.ts';

/**
 * Only the user who owns the files may use them, because the ledger has all payloads and results. The types of the library lack this option.
 */
const ownerOnly = { permissionsMode: 0o600 };
/** One more than the number of file descriptors that opening an environment needs. */
const descriptorsNeeded = 4;
/** The address space that is reserved for a data file, and therefore its maximum size. The file itself grows with its contents. */
export const mapBytesMax = 256 * 2 ** 30;
/** If the oldest hold is at least this many commits old, LMDB has forgotten its list of free pages after the last commit. Its own limit is 300. */
export const oldHoldCommits = 304;
/** The adjacent pages that `freeListKeeper` takes and returns. */
const listPages = 8;
const listKey = Buffer.from('free-pages');
/** An environment, and its databases by the names of their tables. */
export type Lmdb<T extends string> = {
  readonly env: RootDatabase;
  readonly databases: Record<T, Database<Uint8Array, Uint8Array>>;
  /** Keeps the pages that an unsynced environment had when it was opened. Null: the environment was opened in another mode. */
  readonly hold: PageHold | null;
};

/**
 * `synced`: each commit waits for the disk. `unsynced`: no commit waits, so a crash of the machine may leave any part of a commit on disk; the
 * caller recovers from a log. `beside`: only for reading; a missing table reads as empty.
 */
export type LmdbMode = 'synced' | 'unsynced' | 'beside';

/** Opens an environment, which is created if it does not exist. Throws StoreDamaged if its file is damaged. */
export function openChecked<T extends string>(path: string, names: readonly T[], mode: LmdbMode = 'synced'): Lmdb<T> {
  makeDirectory(path, 0o700);
  assertSound(path);
  const file = join(path, 'data.mdb');
  if (!hasPages(file)) makeEmpty(path, file, names);
  return openLmdb(path, names, mode);
}

/** Throws StoreDamaged if the data file is damaged. */
export function assertSound(path: string): void {
  const file = join(path, 'data.mdb');
  const damage = damageOf(file);
  if (damage !== null) throw new StoreDamaged(path, file, damage);
}

/**
 * Creates the data file of an empty environment under another name, and then renames the file. LMDB itself would write the first
 * pages in place and not sync the file's name, so a power cut could leave half of the file, or lose commits.
 */
function makeEmpty<T extends string>(path: string, file: string, names: readonly T[]): void {
  const aside = join(path, '.empty');
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { mode: 0o700 });
  const { env } = openLmdb(aside, names, 'synced');
  replaceFile(file, readFileSync(join(aside, 'data.mdb')), ownerOnly.permissionsMode);
  void env.close();
  rmSync(aside, { recursive: true });
}

export function openLmdb<T extends string>(path: string, names: readonly T[], mode: LmdbMode): Lmdb<T> {
  tryFiles(path);
  const isUnsynced = mode === 'unsynced';
  const env = openEnvironment(path, names.length, { noSync: isUnsynced, trackMetrics: isUnsynced });
  for (const name of ['data.mdb', 'lock.mdb']) closeToOthers(join(path, name));
  // The pages that are on disk stay as they are while the tables are created.
  const hold = isUnsynced ? holdPages(env) : null;
  // All databases are opened in one transaction. Otherwise each new database would be a commit of its own, which in a synced environment
  // waits for the disk.
  return { env, databases: env.transactionSync(() => databasesOf(env, names, mode !== 'beside')), hold };
}

/**
 * Opens an environment without changing its data. The data file must not be empty: the library would end the process with SIGSEGV. Creates a
 * missing `lock.mdb`, unless the disk cannot be written.
 */
export function openReadOnly<T extends string>(path: string, names: readonly T[]): Lmdb<T> {
  const env = openEnvironment(path, names.length, { readOnly: true });
  return { env, databases: databasesOf(env, names, false), hold: null };
}

function openEnvironment(path: string, databases: number, options: object): RootDatabase {
  return open({
    path,
    // Without this option, the library would take a path with a dot in its name for the path of a file.
    noSubdir: false,
    mapSize: mapBytesMax,
    maxDbs: databases + 16,
    maxReaders: 256,
    // With overlapping syncs, the default of the library, a write whose sync has failed would stay readable.
    overlappingSync: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    ...ownerOnly,
    ...options,
  });
}

function databasesOf<T extends string>(env: RootDatabase, names: readonly T[], create: boolean): Lmdb<T>['databases'] {
  return Object.fromEntries(names.map(name => [name, databaseOf(env, name, create)])) as Lmdb<T>['databases'];
}

/** The database of a table. Without `create`, a missing table reads as empty. An environment of an earlier version may lack tables. */
function databaseOf(env: RootDatabase, name: string, create: boolean): Database<Uint8Array, Uint8Array> {
  const options = { name, encoding: 'binary', keyEncoding: 'binary', create } as never;
  return env.openDB<Uint8Array, Uint8Array>(options) ?? noDatabase;
}

const noDatabase = {
  getBinaryFast: () => undefined,
  getRange: () => [],
  getKeys: () => [],
  db: { stat: () => ({ entryCount: 0 }) },
} as never;

/** Keeps all pages of the newest commit as they are, until `release`. */
export type PageHold = { release(): void };

export function holdPages(env: RootDatabase): PageHold {
  env.resetReadTxn();
  const transaction = env.useReadTransaction();
  // Later reads begin a transaction of their own.
  env.resetReadTxn();
  let isHeld = true;
  return {
    release() {
      if (isHeld) transaction.done();
      isHeld = false;
    },
  };
}

/** The number of bytes that the commits of an unsynced environment have written to the data file since it was opened. */
export function writtenBytes(env: RootDatabase): number {
  const { pagesWritten, pageSize } = env.getStats() as { readonly pagesWritten: number; readonly pageSize: number };
  return pagesWritten * pageSize;
}

/**
 * Returns a function that asks for adjacent pages and returns them, in the current transaction. Call it at the end of some of the transactions
 * whose oldest hold is at least `oldHoldCommits` commits old. After each of those, the library forgets its list of free pages, and the next
 * one reads back only as many pages as it needs. If all of them are used, the list is written back into new pages at the end of the file, so
 * the file would grow without limit. The function makes the library read more of the list, and join what it reads. Never call it while the oldest
 * hold is younger: the library then writes back only the parts of its list that it knows to have changed.
 */
export function freeListKeeper<T extends string>({ env, databases }: Lmdb<T>, table: T): () => void {
  const { pageSize } = env.getStats() as { readonly pageSize: number };
  // The header of the first page takes some of its space, so the value needs one page more.
  const value = Buffer.alloc((listPages - 1) * pageSize);
  return () => {
    databases[table].put(listKey, value);
    databases[table].remove(listKey);
  };
}

/** Writes the batch in the current transaction. Returns the number of bytes of its keys and values. */
export function write<T extends string>({ databases }: Lmdb<T>, { tables, keys, values }: WriteBatch<T>): number {
  let bytes = 0;
  for (let i = 0; i < tables.length; i++) {
    const value = values[i];
    bytes += keys[i]!.length + (value?.length ?? 0);
    if (value === undefined) databases[tables[i]!].remove(keys[i]!);
    else databases[tables[i]!].put(keys[i]!, value);
  }
  return bytes;
}

/**
 * Throws if the files cannot be opened. Without this check the library would end the process in this case. The lock file is not
 * opened here, because closing it would release the locks of this process.
 */
function tryFiles(path: string): void {
  const lock = join(path, 'lock.mdb');
  if (statSync(lock, { throwIfNoEntry: false })?.isFile() === false) throw new Error(`${lock} is not a file`);
  if (existsSync(lock)) accessSync(lock, constants.R_OK | constants.W_OK);
  const opened: number[] = [];
  try {
    for (let i = 0; i < descriptorsNeeded; i++) {
      opened.push(openSync(join(path, 'data.mdb'), constants.O_RDWR | constants.O_CREAT, ownerOnly.permissionsMode));
    }
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** Makes a file usable by its owner only. An earlier version may have created it with other permissions. */
function closeToOthers(file: string): void {
  try {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, ownerOnly.permissionsMode);
  } catch {
    // The file may belong to another user. The doctor reports that.
  }
}

const noKey = Buffer.alloc(1);

export function readerOf<T extends string>({ env, databases }: Lmdb<T>): Reader<T> {
  return {
    get(table, key) {
      const room = databases[table].getBinaryFast(key);
      return room && copyOf(room);
    },
    peek(table, key) {
      const room = databases[table].getBinaryFast(key);
      return room && new Uint8Array(room.buffer, room.byteOffset, room.length);
    },
    scan: (table, range) =>
      databases[table].getRange(bounds(range)) as Iterable<{ key: Uint8Array; value: Uint8Array }>,
    keys: (table, range) => databases[table].getKeys(bounds(range)) as Iterable<Uint8Array>,
    count(table) {
      // This read begins the transaction. `getStats` would begin it too, but takes three times as long, since it describes the environment.
      databases[table].getBinaryFast(noKey);
      return (databases[table] as never as { db: { stat(): { entryCount: number } } }).db.stat().entryCount;
    },
    // One call is enough, because all databases of the environment share its read transaction.
    refresh: () => env.resetReadTxn(),
    close() {
      void env.close();
    },
  };
}

/**
 * Copies a value out of the library's buffer, which is valid only until the next read. Allocating from Node's pool is five times as fast
 * as the slice that `getBinary` makes.
 */
function copyOf(room: Buffer): Uint8Array {
  const own = Buffer.allocUnsafe(room.length);
  own.set(new Uint8Array(room.buffer, room.byteOffset, room.length));
  return own;
}

function bounds({ from, to, reverse, limit }: Range): object {
  const ends = reverse
    ? { reverse: true, start: to, end: from, exclusiveStart: true, inclusiveEnd: true }
    : { start: from, end: to };
  return limit === undefined ? ends : { ...ends, limit };
}
