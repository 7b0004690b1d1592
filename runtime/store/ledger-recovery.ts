// Opens the ledger for its holder. After a stop that was not clean (a kill, a crash of the machine, a power cut), the ledger goes back to its
// checkpoint, and the turns in the log are applied again.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Checkpoint } from '../commit-log/checkpoint-file.ts';
import { assertNewest, hasTurns, type LoggedTurn, readLog, usedBytes } from '../commit-log/log-reader.ts';
import type { LogSizes } from '../commit-log/log-sizes.ts';
import { LogWriter } from '../commit-log/log-writer.ts';
import type { Lsn } from '../commit-log/part.ts';
import { listSegments, type Segment } from '../commit-log/segments.ts';
import { decodeTurn } from '../commit-log/turn-codec.ts';
import { makeDirectory, syncDirectory } from '../durable-file.ts';
import { isAlive, isHere, type ProcessIdentity } from '../processes/identity.ts';
import { appliedIn, appliedKey, encodeApplied } from './applied.ts';
import type { WriteBatch } from './batch.ts';
import { Checkpoints, type CheckpointsOptions, logDirectoryOf } from './checkpoints.ts';
import { hasPages, StoreDamaged } from './damage.ts';
import { assertReadable, formatIn, formatKey, formatVersion } from './format.ts';
import { assertSound, type Lmdb, openChecked, openLmdb, readerOf, write } from './lmdb.ts';
import { StoreHeld } from './owner.ts';
import { newestTransaction, restoreRoots, rootsIn } from './root-pages.ts';
import { type Reader, StoreFault, type Table, tables } from './store.ts';
import { awaitNoReaders } from './store-readers.ts';

/** `applyTurns` commits each time it has applied at least this many bytes of turns. */
const groupBytesMax = 16 * 2 ** 20;

const knownTables = new Set<string>(tables);
/** The key under which versions without a commit log kept the owner in the ledger. */
export const legacyOwnerKey = Buffer.from('owner');

export type LedgerRecovery = LogSizes & {
  readonly path: string;
  readonly epoch: number;
  readonly found: Checkpoint | null;
  /** How long a recovery waits for readers. */
  readonly readersMs: number;
  /** Whether a state of an older format gets the format of this version. */
  readonly upgrades: boolean;
  /** Whether the segments of the log are kept until they are archived. */
  readonly keeps: boolean;
  /** The last turn to keep: all later turns are given up, and the old log is kept beside the new log. */
  readonly until: Lsn;
  /** Whether a holder in another pid namespace shows a sign of life. */
  readonly isAwake: () => boolean;
  readonly guard: CheckpointsOptions['guard'];
  readonly onFault: CheckpointsOptions['onFault'];
};

export type OpenLedger = {
  readonly lmdb: Lmdb<Table>;
  readonly log: LogWriter;
  readonly checkpoints: Checkpoints;
};

/**
 * Opens the ledger. The caller must hold the state directory. Throws StoreFault if the ledger or its log is damaged or has an unreadable
 * format.
 */
export function openLedger(recovery: LedgerRecovery): OpenLedger {
  const { path, found, until } = recovery;
  const directory = logDirectoryOf(path);
  makeDirectory(directory, 0o700);
  const segments = listSegments(directory);
  const isRecovered = found !== null && !found.isClean;
  if (found === null) assertNew(recovery, segments);
  else goBack(recovery, found, segments);
  if (!isRecovered) prepare(recovery);
  assertSound(path);
  const lmdb = openLmdb(path, tables, 'unsynced');
  try {
    assertReadable(path, formatIn(readerOf(lmdb)));
    if (isRecovered) lmdb.env.transactionSync(() => upgrade(recovery, lmdb));
    const applied = appliedIn(readerOf(lmdb))?.lsn ?? 0;
    if (isRecovered && applied !== found.lsn)
      throw new StoreFault(
        `${path} does not fit its checkpoint: it has turn ${applied}, the checkpoint turn ${found.lsn}; restore ${path} from a backup, or move it away to start with an empty state`,
      );
    const last = isRecovered ? (applyTurns(lmdb, readLog(segments, found, until)) ?? applied) : applied;
    if (until < Number.POSITIVE_INFINITY && last !== until)
      throw new StoreFault(`the commit log has no turn ${until} to go back to: its last one is ${last}`);
    return begin(recovery, lmdb, segments, last);
  } catch (error) {
    lmdb.hold?.release();
    void lmdb.env.close();
    throw error;
  }
}

/**
 * Asserts that a ledger without a checkpoint has no turns in its log. Such a ledger is new, or was written by an earlier version, or its first
 * start was interrupted.
 */
function assertNew({ path }: LedgerRecovery, segments: readonly Segment[]): void {
  if (segments.some(segment => hasTurns(segment)))
    throw new StoreFault(
      `${logDirectoryOf(path)} has a commit log but no checkpoint: restore ${path} from a backup, or move it away to start with an empty state`,
    );
}

/**
 * Prepares a ledger that needs no recovery: creates its missing tables, removes the owner that an earlier version stored in it
 * (`legacyOwnerKey`), and upgrades the format. These commits are synced, because no recovery would undo or repeat them. Throws StoreHeld if
 * that owner lives.
 */
function prepare(recovery: LedgerRecovery): void {
  const { path, isAwake } = recovery;
  const lmdb = openChecked(path, tables);
  const { env, databases } = lmdb;
  try {
    assertReadable(path, formatIn(readerOf(lmdb)));
    assertNoLegacyOwner(path, readerOf(lmdb), isAwake);
    env.transactionSync(() => {
      databases.meta.remove(legacyOwnerKey);
      upgrade(recovery, lmdb);
    });
  } finally {
    void env.close();
  }
}

/**
 * Throws StoreHeld if the owner that an earlier version stored in the ledger (`legacyOwnerKey`) lives. `isAwake`: whether an owner in another
 * pid namespace shows a sign of life.
 */
export function assertNoLegacyOwner(path: string, reader: Pick<Reader, 'get'>, isAwake: () => boolean): void {
  const known = reader.get('meta', legacyOwnerKey);
  if (known === undefined) return;
  const holder: ProcessIdentity = JSON.parse(Buffer.from(known).toString());
  if (isHere(holder) ? holder.pid !== process.pid && isAlive(holder) : isAwake()) throw new StoreHeld(path, holder);
}

/** Gives the format of this version to a new ledger and, with `upgrades`, to an older ledger, in the current transaction. */
function upgrade({ upgrades }: LedgerRecovery, lmdb: Lmdb<Table>): void {
  const format = formatIn(readerOf(lmdb));
  if (format === null || (upgrades && format !== formatVersion))
    lmdb.databases.meta.put(formatKey, Buffer.from([formatVersion]));
}

/** Undoes every commit after the checkpoint. After a clean stop there is nothing to undo. */
function goBack({ path, readersMs }: LedgerRecovery, found: Checkpoint, segments: readonly Segment[]): void {
  const file = join(path, 'data.mdb');
  if (!hasPages(file)) throw new StoreDamaged(path, file, 'it is missing or empty, although it has a checkpoint');
  const [wanted, present] = [newestTransaction(found.roots), newestTransaction(rootsIn(file, found.roots.length))];
  if (wanted === null || present === null) {
    assertSound(path);
    throw new StoreDamaged(path, file, 'it has no root page of its checkpoint');
  }
  if (present < wanted) throw new StoreDamaged(path, file, 'it is older than its checkpoint');
  if (found.isClean) return;
  assertNewest(segments, found);
  const readers = awaitNoReaders(path, readersMs);
  if (readers !== null) {
    const names = readers.length === 0 ? 'other processes read' : `process ${readers.join(', ')} reads`;
    throw new StoreFault(`${path} cannot be recovered while ${names} it: end what reads it, and start again`);
  }
  restoreRoots(file, found.roots);
  // The lock file is removed because it has the number of an undone commit. At this point no process uses the lock file.
  rmSync(join(path, 'lock.mdb'), { force: true });
}

/** Applies the turns, several in one transaction. Returns the number of the last turn; null: there was no turn. */
export function applyTurns(lmdb: Lmdb<Table>, turns: Iterator<LoggedTurn, void>): Lsn | null {
  let last: Lsn | null = null;
  for (let isOver = false; !isOver; ) {
    isOver = lmdb.env.transactionSync(() => {
      for (let bytes = 0; bytes < groupBytesMax; ) {
        const step = turns.next();
        if (step.done) return true;
        write(lmdb, batchOf(step.value.bytes, step.value.lsn));
        last = step.value.lsn;
        bytes += step.value.bytes.length;
        lmdb.databases.meta.put(appliedKey, encodeApplied(last, step.value.atUs));
      }
      return false;
    });
  }
  return last;
}

function batchOf(bytes: Buffer, lsn: Lsn): WriteBatch<Table> {
  const batch = decodeTurn(bytes);
  const unknown = batch.tables.find(name => !knownTables.has(name));
  if (unknown !== undefined)
    throw new StoreFault(
      `turn ${lsn} of the commit log writes the table ${unknown}: start the newer version that wrote it`,
    );
  return batch as WriteBatch<Table>;
}

/** Begins a new log with a checkpoint. After a stop that was not clean, the old log is needed until this checkpoint is complete. */
function begin(recovery: LedgerRecovery, lmdb: Lmdb<Table>, segments: readonly Segment[], last: Lsn): OpenLedger {
  const { path, epoch, found, keeps, until, segmentBytes, churnBytes, guard, onFault } = recovery;
  const directory = logDirectoryOf(path);
  const isRepaired = until < Number.POSITIVE_INFINITY;
  const isNeeded = (found !== null && !found.isClean) || keeps;
  const kept = (segment: Segment) => ({ ...segment, usedBytes: keeps ? usedBytes(segment) : segment.bytes });
  const log = new LogWriter({
    directory,
    segment: (segments.at(-1)?.number ?? 0) + 1,
    segmentBytesMax: segmentBytes,
    epoch,
    last,
    unused: isNeeded || isRepaired ? [] : segments,
    older: isNeeded && !isRepaired ? segments.map(kept) : [],
    keeps,
  });
  const checkpoints = new Checkpoints({
    lmdb,
    dataFile: join(path, 'data.mdb'),
    logDirectory: directory,
    log,
    epoch,
    format: formatIn(readerOf(lmdb))!,
    last: found?.number ?? 0,
    hold: lmdb.hold!,
    segmentBytes,
    churnBytes,
    guard,
    onFault,
  });
  try {
    checkpoints.complete();
  } catch (error) {
    checkpoints.close();
    log.close();
    throw error;
  }
  if (isRepaired) setAside(path, segments);
  return { lmdb, log, checkpoints };
}

/** Moves the segments, whose last turns are given up, to a directory beside the log. */
function setAside(path: string, segments: readonly Segment[]): void {
  const aside = newAside(path);
  mkdirSync(aside, { mode: 0o700 });
  for (const { path: from } of segments) renameSync(from, join(aside, basename(from)));
  syncDirectory(aside);
}

/** Moves the log of a ledger that is gone, and the checkpoint in it, to another directory in the state directory. */
export function moveLogAside(path: string): void {
  const directory = logDirectoryOf(path);
  if (!existsSync(directory)) return;
  renameSync(directory, newAside(path));
  syncDirectory(path);
}

function newAside(path: string): string {
  return join(path, `log-aside-${new Date().toISOString().replaceAll(/[-:]/g, '')}`);
}
