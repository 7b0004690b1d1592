// The ledger on disk, and the index: an LMDB environment each, one database a table, one synchronous durable transaction a commit.
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { identify, isAlive, isHere, type ProcessIdentity } from '../process.ts';
import { WriteBatch } from './batch.ts';
import { showLife, showsLife } from './sign-of-life.ts';
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

/** Address space set aside for the file; the file itself grows as it is filled. */
export const mapBytesMax = 256 * 2 ** 30;
const formatVersion = 9;
/** The one before is read as it is: it has no deflated parts, and is as this one otherwise. */
const formatsRead = [8, formatVersion];
/** An index of another format is made again from the ledger. */
const indexFormatVersion = 2;
/** A holder in another pid namespace that shows no life for so long is taken for dead. */
const silenceMsMax = 5_000;

/** The state directory is held by another running process. */
export class StoreHeld extends Error {
  readonly code = 'store_held';
  readonly holder: ProcessIdentity;
  constructor(path: string, holder: ProcessIdentity) {
    const where = isHere(holder) ? '' : ' of another container (pid namespace)';
    super(`${path} is in use by process ${holder.pid}${where}: stop it, or give this instance a state.path of its own`);
    this.holder = holder;
  }
}

type Sheets<T extends string> = { env: RootDatabase; of: Record<T, Database<Uint8Array, Uint8Array>> };

function openSheets<T extends string>(path: string, names: readonly T[]): Sheets<T> {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const env = open({
    path,
    mapSize: mapBytesMax,
    maxDbs: names.length + 16,
    maxReaders: 256,
    // The default leaves a write readable whose sync failed; without it a commit returns when it is on disk.
    overlappingSync: false,
    noMemInit: true,
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const openOne = (name: T) => env.openDB<Uint8Array, Uint8Array>({ name, encoding: 'binary', keyEncoding: 'binary' });
  // One transaction: each database that is new would be a commit of its own, and wait for the disk.
  const of = env.transactionSync(() => Object.fromEntries(names.map(name => [name, openOne(name)]))) as Sheets<T>['of'];
  return { env, of };
}

function readerOf<T extends string>({ env, of }: Sheets<T>): Reader<T> {
  return {
    get(table, key) {
      const room = of[table].getBinaryFast(key);
      return room && copyOf(room);
    },
    scan: (table, range) => of[table].getRange(bounds(range)) as Iterable<{ key: Uint8Array; value: Uint8Array }>,
    count: table => (of[table].getStats() as { entryCount: number }).entryCount,
    // All databases of the environment share its read transaction.
    refresh: () => env.resetReadTxn(),
    close() {
      void env.close();
    },
  };
}

/**
 * The value outlives the page, and the room that the library copies every value into; of that only the length is the value's.
 * Node's pool is five times as quick as the slice that `getBinary` makes of it.
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

/** For threads that only look. The ledger thread of this process must have opened the store before. */
export function openReader(path: string): Reader {
  return readerOf(openSheets(path, tables));
}

/** For threads that search. The indexer of this process must have opened the index before. */
export function openIndexReader(path: string): Reader<IndexTable> {
  return readerOf(openSheets(indexPath(path), indexTables));
}

/** For the indexer. An index that cannot be read, or has another format, begins again empty. */
export function openIndexStore(path: string): Store<IndexTable> {
  try {
    const sheets = openSheets(indexPath(path), indexTables);
    if (hasFormat(sheets)) return storeOf(sheets, indexPath(path));
    void sheets.env.close();
  } catch {}
  rmSync(indexPath(path), { recursive: true, force: true });
  const sheets = openSheets(indexPath(path), indexTables);
  hasFormat(sheets);
  return storeOf(sheets, indexPath(path));
}

function indexPath(path: string): string {
  return join(path, 'search');
}

/** Whether the index has the format of this version; an empty one gets it. */
function hasFormat({ env, of }: Sheets<IndexTable>): boolean {
  const key = Buffer.from('format');
  return env.transactionSync(() => {
    const format = of.positions.get(key);
    if (!format) of.positions.put(key, Buffer.from([indexFormatVersion]));
    return !format || format[0] === indexFormatVersion;
  });
}

/**
 * For the ledger thread. Throws StoreHeld when another living process has the directory; `close` lets go of it. One in another
 * pid namespace is given `silenceMs` to show that it lives, for which the thread waits.
 */
export function openStore(path: string, silenceMs = silenceMsMax): Store {
  const sheets = openSheets(path, tables);
  const { env, of } = sheets;
  const claimed = claim(sheets, path, silenceMs);
  const isOurs = () => claimed.equals(of.meta.get(ownerKey) ?? Buffer.alloc(0));
  const hide = showLife(path);
  const store = storeOf(sheets, path, () => {
    // It was taken for dead, since it stood still.
    if (!isOurs()) throw new Error(`${path} was taken over by another process`);
  });
  return {
    ...store,
    close() {
      hide();
      env.transactionSync(() => void (isOurs() && of.meta.remove(ownerKey)));
      store.close();
    },
  };
}

/** `check` throws where a commit must not be. */
function storeOf<T extends string>(sheets: Sheets<T>, path: string, check: () => void = () => {}): Store<T> {
  return {
    ...readerOf(sheets),
    batch: () => new WriteBatch<T>(),
    commit(batch) {
      const { tables: names, keys, values } = batch as WriteBatch<T>;
      try {
        sheets.env.transactionSync(() => {
          check();
          for (let i = 0; i < names.length; i++) {
            const value = values[i];
            if (value === undefined) sheets.of[names[i]!].remove(keys[i]!);
            else sheets.of[names[i]!].put(keys[i]!, value);
          }
        });
      } catch (error) {
        throw asStoreError(error, path);
      }
    },
  };
}

const ownerKey = Buffer.from('owner');

/** Writes this process down as the owner, and returns what it has written. */
function claim(sheets: Sheets<Table>, path: string, silenceMs: number): Buffer {
  const self = Buffer.from(JSON.stringify(identify(process.pid)));
  for (let silent: Uint8Array | null = null; ; ) {
    const known = replaceOwner(sheets, path, self, silent);
    if (known === null) return self;
    if (showsLife(path, silenceMs)) throw new StoreHeld(path, ownerIn(known));
    silent = known;
  }
}

/**
 * Null: it was done. Else the owner, which is in another pid namespace and is not the one that is `silent`. The write lock of
 * LMDB decides between two that start at the same moment.
 */
function replaceOwner(
  { env, of }: Sheets<Table>,
  path: string,
  self: Buffer,
  silent: Uint8Array | null,
): Uint8Array | null {
  const formatKey = Buffer.from('format');
  const found = env.transactionSync((): Error | Uint8Array | null => {
    const format = of.meta.get(formatKey);
    if (format && !formatsRead.includes(format[0]!)) {
      return new StoreFault(
        `${path} was written in format ${format[0]}; this version reads ${formatsRead.join(' and ')}`,
      );
    }
    const known = of.meta.get(ownerKey);
    if (known) {
      const holder = ownerIn(known);
      if (!isHere(holder)) {
        if (silent === null || !Buffer.from(known).equals(silent)) return Buffer.from(known);
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

const noSpace = new Set<unknown>(['ENOSPC', 28, 'EDQUOT', 122, -30792]);

/** With less free room than this a write may have found too little. */
const roomBytesMin = 2 ** 20;

function asStoreError(error: unknown, path: string): Error {
  const cause = error as { code?: unknown; message?: string; commitError?: { code?: unknown; message?: string } };
  const inner = cause.commitError ?? cause;
  const message = String(inner.message ?? error);
  const full =
    noSpace.has(inner.code) ||
    /ENOSPC|no space|MDB_MAP_FULL|mapsize|quota/i.test(message) ||
    isShortWrite(message, path);
  return full ? new StoreFull(message, { cause: error }) : new StoreFault(message, { cause: error });
}

/** A write that only part of found room is an input/output error in the words of LMDB. */
function isShortWrite(message: string, path: string): boolean {
  if (!/EIO|input\/output error/i.test(message)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize < roomBytesMin;
}
