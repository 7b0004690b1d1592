// The ledger and the index on disk. Each is an LMDB environment with a database for each table. A commit is one transaction.

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { makeDirectory, replaceFile } from '../durable-file.ts';
import { identify, isAlive, isHere, type ProcessIdentity } from '../processes/identity.ts';
import { WriteBatch } from './batch.ts';
import { type CommitLock, openCommitLock } from './commit-lock.ts';
import { damageOf, StoreDamaged } from './damage.ts';
import { asStoreError } from './fault.ts';
import { formatsRead, formatVersion, wrongFormat } from './format.ts';
import { hasHeartbeat, startHeartbeat } from './heartbeat.ts';
import { CommitRoom } from './room.ts';
import {
  type IndexTable,
  indexTables,
  type Range,
  type Reader,
  type Store,
  StoreFault,
  StoreFull,
  type Table,
  tables,
} from './store.ts';

/**
 * Only the owner may use the files, because the ledger has all payloads and results. The types of the library lack this option.
 */
const ownerOnly = { permissionsMode: 0o600 };
/** The number of file descriptors that opening an environment needs, and one to spare. */
const descriptorsNeeded = 4;
/** The address space that is reserved for a data file, and so its maximum size. The file itself grows with its contents. */
export const mapBytesMax = 256 * 2 ** 30;
/** The format of the index. An index of another format is rebuilt from the ledger. */
const indexFormatVersion = 2;
/** An unusable index is moved to a directory whose name begins with this. That directory is kept until another index is moved. */
const asidePrefix = 'search-aside-';
/** LMDB's error codes for a damaged file: PAGE_NOTFOUND, CORRUPTED, VERSION_MISMATCH, INVALID and INCOMPATIBLE. */
const damageCodes = new Set<unknown>([-30797, -30796, -30794, -30793, -30784]);
/** A process in another pid namespace that holds the directory counts as dead if it shows no sign of life for this long. */
const silenceMsMax = 5_000;
/** If waiting for the write lock took longer than this, a living process had it: LMDB releases the lock of a dead process at once. */
const lockMsMax = 100;

/** Thrown if another running process holds the state directory. */
export class StoreHeld extends Error {
  readonly code = 'store_held';
  readonly holder: ProcessIdentity;
  constructor(path: string, holder: ProcessIdentity) {
    const where = isHere(holder) ? '' : ' of another container (pid namespace)';
    super(`${path} is in use by process ${holder.pid}${where}: stop it, or give this instance a state.path of its own`);
    this.holder = holder;
  }
}

export type Sheets<T extends string> = { env: RootDatabase; of: Record<T, Database<Uint8Array, Uint8Array>> };

/** Opens an environment, which is created if it does not exist. Throws StoreDamaged if its file is damaged. */
export function openChecked<T extends string>(path: string, names: readonly T[]): Sheets<T> {
  makeDirectory(path, 0o700);
  const file = join(path, 'data.mdb');
  const damage = damageOf(file);
  if (damage !== null) throw new StoreDamaged(path, file, damage);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) makeEmpty(path, file, names);
  return openSheets(path, names);
}

/**
 * Creates the data file of an empty environment under another name, and then renames the file. LMDB itself would write the first
 * pages in place and not sync the file's name, so a power cut could leave half of the file, or lose commits.
 */
function makeEmpty<T extends string>(path: string, file: string, names: readonly T[]): void {
  const aside = join(path, '.empty');
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { mode: 0o700 });
  const { env } = openSheets(aside, names);
  replaceFile(file, readFileSync(join(aside, 'data.mdb')), ownerOnly.permissionsMode);
  void env.close();
  rmSync(aside, { recursive: true });
}

export function openSheets<T extends string>(path: string, names: readonly T[]): Sheets<T> {
  tryFiles(path);
  const env = openEnvironment(path, names.length);
  for (const name of ['data.mdb', 'lock.mdb']) closeToOthers(join(path, name));
  const openOne = (name: T) => env.openDB<Uint8Array, Uint8Array>({ name, encoding: 'binary', keyEncoding: 'binary' });
  // All databases are opened in one transaction. Otherwise each new one would be a commit of its own, and wait for the disk.
  const of = env.transactionSync(() => Object.fromEntries(names.map(name => [name, openOne(name)]))) as Sheets<T>['of'];
  return { env, of };
}

export function openEnvironment(path: string, databases: number, readOnly = false): RootDatabase {
  return open({
    path,
    // Without this, the library would take a path with a dot in its name for the path of a file.
    noSubdir: false,
    mapSize: mapBytesMax,
    maxDbs: databases + 16,
    maxReaders: 256,
    // By default syncs overlap, and a write whose sync has failed stays readable.
    overlappingSync: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    readOnly,
    ...ownerOnly,
  });
}

/**
 * Throws if the files cannot be opened. Without this check the library would end the process in this case. The lock file is not
 * opened here, because closing it would release the locks of this process.
 */
export function tryFiles(path: string): void {
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
    // The file belongs to another user, which the doctor reports.
  }
}

const noKey = Buffer.alloc(1);

export function readerOf<T extends string>({ env, of }: Sheets<T>): Reader<T> {
  return {
    get(table, key) {
      const room = of[table].getBinaryFast(key);
      return room && copyOf(room);
    },
    peek(table, key) {
      const room = of[table].getBinaryFast(key);
      return room && new Uint8Array(room.buffer, room.byteOffset, room.length);
    },
    scan: (table, range) => of[table].getRange(bounds(range)) as Iterable<{ key: Uint8Array; value: Uint8Array }>,
    keys: (table, range) => of[table].getKeys(bounds(range)) as Iterable<Uint8Array>,
    count(table) {
      // This read begins the transaction. `getStats` would begin it too, but takes three times as long, since it describes the environment.
      of[table].getBinaryFast(noKey);
      return (of[table] as never as { db: { stat(): { entryCount: number } } }).db.stat().entryCount;
    },
    // One call is enough: all databases of the environment share its read transaction.
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

/** Opens the ledger for a thread that only reads. The ledger thread of this process must have opened it before. */
export function openReader(path: string): Reader {
  return readerOf(openSheets(path, tables));
}

/** Opens the ledger for a process that only reads, while another process may own it. */
export function openReaderBeside(path: string): Reader {
  const lock = openCommitLock(path);
  try {
    return readerOf(lock.open(() => openChecked(path, tables)));
  } finally {
    lock.close();
  }
}

/** Opens the index for a thread that searches; used by `IndexReaders`. The indexer of this process must have opened the index before. */
export function openIndexReader(path: string): Reader<IndexTable> {
  return readerOf(openChecked(indexPath(path), indexTables));
}

/**
 * Opens the index for the indexer. An index that is damaged or has another format is moved away and replaced by an empty one; `warn` gets
 * the reason and the new path. Any other error is thrown, and the index stays as it is.
 */
export function openIndexStore(path: string, warn: (reason: string, setAside: string) => void): Store<IndexTable> {
  const reason = unusable(path);
  if (typeof reason !== 'string') return storeOf(reason, indexPath(path));
  warn(reason, setAsideIndex(path));
  const sheets = openChecked(indexPath(path), indexTables);
  formatIn(sheets);
  return storeOf(sheets, indexPath(path));
}

/** Opens the index if it is usable; otherwise returns the reason why it is not. */
function unusable(path: string): Sheets<IndexTable> | string {
  try {
    const sheets = openChecked(indexPath(path), indexTables);
    const format = formatIn(sheets);
    if (format === indexFormatVersion) return sheets;
    void sheets.env.close();
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

export function ledgerFile(path: string): string {
  return join(path, 'data.mdb');
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

/** The format of the index. An empty index is given the format of this version. */
function formatIn({ env, of }: Sheets<IndexTable>): number {
  const key = Buffer.from('format');
  return env.transactionSync(() => {
    const format = of.positions.get(key);
    if (!format) of.positions.put(key, Buffer.from([indexFormatVersion]));
    return format?.[0] ?? indexFormatVersion;
  });
}

/**
 * Opens the ledger for writing. The process then holds the directory until `close`. Throws StoreHeld if another living process
 * holds the directory. For the sign of life of a holder in another pid namespace, `watch` waits up to `silenceMs`.
 */
export function openStore(path: string, silenceMs = silenceMsMax, watch = hasHeartbeat): Store {
  makeDirectory(path, 0o700);
  const lock = openCommitLock(path);
  const sheets = lock.open(() => openChecked(path, tables));
  const { env, of } = sheets;
  const claimed = claim(sheets, lock, path, () => watch(path, silenceMs));
  const isOurs = () => claimed.equals(of.meta.get(ownerKey) ?? Buffer.alloc(0));
  const hide = startHeartbeat(path);
  const store = storeOf(sheets, path, lock.commit, () => {
    // Another process saw no sign of life from this one for too long, and took the directory over.
    if (!isOurs()) throw new Error(`${path} was taken over by another process`);
  });
  return {
    ...store,
    close() {
      hide();
      lock.commit(() => env.transactionSync(() => void (isOurs() && of.meta.remove(ownerKey))));
      store.close();
      lock.close();
    },
  };
}

/**
 * A store on these databases. `within` runs each commit under a lock; `check` throws if this process may not commit. After a fault of the
 * disk the store commits no more batches.
 */
export function storeOf<T extends string>(
  sheets: Sheets<T>,
  path: string,
  within: CommitLock['commit'] = act => act(),
  check: () => void = () => {},
): Store<T> {
  let fault: StoreFault | null = null;
  const room = new CommitRoom(path);
  return {
    ...readerOf(sheets),
    batch: () => new WriteBatch<T>(),
    commit(batch) {
      if (fault !== null) throw fault;
      const { tables: names, keys, values } = batch as WriteBatch<T>;
      const write = (): void => {
        check();
        let bytes = 0;
        for (let i = 0; i < names.length; i++) {
          const value = values[i];
          bytes += keys[i]!.length + (value?.length ?? 0);
          if (value === undefined) sheets.of[names[i]!].remove(keys[i]!);
          else sheets.of[names[i]!].put(keys[i]!, value);
        }
        room.assertFor(bytes);
      };
      try {
        within(() => sheets.env.transactionSync(write));
      } catch (error) {
        const told = error instanceof StoreFull ? error : asStoreError(error, path);
        if (told instanceof StoreFault) fault = told;
        throw told;
      }
    },
  };
}

export const ownerKey = Buffer.from('owner');

/**
 * Makes this process the owner of the store, and returns its entry. Throws StoreHeld, or StoreFault if the format is unreadable.
 */
function claim(sheets: Sheets<Table>, lock: CommitLock, path: string, isAwake: () => boolean): Buffer {
  const self = Buffer.from(JSON.stringify(identify(process.pid)));
  for (let silent: Uint8Array | null = null; ; ) {
    const known = lock.commit(() => replaceOwner(sheets, path, self, silent));
    if (known === null) return self;
    if (isAwake()) throw new StoreHeld(path, ownerIn(known));
    silent = known;
  }
}

/**
 * Tries to make this process the owner. Returns null if that succeeds. Otherwise returns the entry of the present owner, which is
 * in another pid namespace and must be watched: it is another owner than the `silent` one, or the write lock was taken, perhaps
 * by a commit of this owner. The write lock decides between two processes that start at the same moment.
 */
function replaceOwner(
  { env, of }: Sheets<Table>,
  path: string,
  self: Buffer,
  silent: Uint8Array | null,
): Uint8Array | null {
  const formatKey = Buffer.from('format');
  const startMs = performance.now();
  const found = env.transactionSync((): Error | Uint8Array | null => {
    const isLockFree = performance.now() - startMs <= lockMsMax;
    const format = of.meta.get(formatKey);
    if (format && !formatsRead.includes(format[0]!)) {
      return new StoreFault(wrongFormat(path, format[0]!));
    }
    const known = of.meta.get(ownerKey);
    if (known) {
      const holder = ownerIn(known);
      if (!isHere(holder)) {
        if (silent === null || !isLockFree || !Buffer.from(known).equals(silent)) return Buffer.from(known);
      } else if (holder.pid !== process.pid && isAlive(holder)) return new StoreHeld(path, holder);
    }
    of.meta.put(ownerKey, self);
    of.meta.put(formatKey, Buffer.from([formatVersion]));
    return null;
  });
  if (found instanceof Error) throw found;
  return found;
}

function ownerIn(record: Uint8Array): ProcessIdentity {
  return JSON.parse(Buffer.from(record).toString());
}
