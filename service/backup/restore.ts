// Restores a backup into a state directory that has no state. The ledger appears in the directory last, when everything else is in place.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { encodePause, type Pause, pauseKey, restoreName } from '../../actors/job/records/pause.ts';
import { type Unsettled, unsettledIn } from '../../actors/job/views/unsettled.ts';
import { nextKeyFile } from '../../config/key-file.ts';
import { readAcceptance } from '../../config/seal/acceptance.ts';
import { diskFiles } from '../../config/source/files.ts';
import { makeDirectory, syncDirectory } from '../../runtime/durable-file.ts';
import { openCommitLock } from '../../runtime/store/commit-lock.ts';
import { changeCopy, readCopy } from '../../runtime/store/copies.ts';
import { indexPath } from '../../runtime/store/index-store.ts';
import { moveLogAside } from '../../runtime/store/ledger-recovery.ts';
import { assertUser, ledgerFile, livingOwner } from '../../runtime/store/ledger-store.ts';
import { renewStoreId } from '../../runtime/store/store-id.ts';
import { copyFile, noteWriter, type OnBytes, partialEnding, removeLeftovers } from './files.ts';
import { type BackupFile, type BackupManifest, BackupRefused, readManifest } from './manifest.ts';
import { bringForward, startBefore } from './point-in-time.ts';
import { hashProblem, sizeProblem } from './verify.ts';

export type RestoreOrder = {
  /** The path of a backup. If `untilMs` is given, it may also be the path of a directory of backups. */
  readonly backup: string;
  /** The time as of which the state is restored. This needs the archived commit log. */
  readonly untilMs?: number | undefined;
  readonly into: string;
  /** Whether the restored state continues its work at once. False: the restore pauses the whole service. Pauses in the backup stay in both cases. */
  readonly resumes: boolean;
  readonly onBytes?: OnBytes;
};

export type Restored = {
  readonly statePath: string;
  readonly storeId: string;
  readonly manifest: BackupManifest;
  /** The newest turn that the restored state has. Null: the backup does not say. */
  readonly turn: NonNullable<BackupManifest['turn']> | null;
  /** The unsettled jobs and runs, which the restored state continues once it is resumed. */
  readonly unsettled: Unsettled;
};

/**
 * Restores a backup. Throws BackupRefused if the backup is not whole, `into` has a state, is in use, or has another unlock key than the backup, or
 * `untilMs` cannot be reached. Throws StoreFault if the process is root and `into` belongs to another user.
 */
export async function restoreBackup(order: RestoreOrder): Promise<Restored> {
  const { into, untilMs, resumes, onBytes } = order;
  const origin = untilMs === undefined ? null : startBefore(order.backup, untilMs);
  const backup = origin?.backup ?? order.backup;
  const manifest = readManifest(backup);
  const statePath = resolve(into);
  if (existsSync(ledgerFile(statePath)))
    throw new BackupRefused(`${statePath} has a state already; move it away, or name another directory`);
  assertUnused(statePath);
  assertUser(statePath);
  assertNoOtherKey(statePath, manifest);
  makeDirectory(statePath, 0o700);
  removeLeftovers(statePath);
  // An earlier version collected the files here, without a note.
  rmSync(join(statePath, `restore${partialEnding}`), { recursive: true, force: true });
  // Collects the restored files. If this restore dies, the next one removes the directory.
  const staging = join(statePath, `restore-${randomBytes(6).toString('hex')}${partialEnding}`);
  mkdirSync(staging, { mode: 0o700 });
  try {
    noteWriter(staging);
    for (const entry of manifest.files) await copyEntry(backup, staging, entry, onBytes);
    const turn = origin === null ? manifest.turn : await bringForward(staging, origin, untilMs!);
    const name = basename(resolve(backup));
    let storeId = '';
    await changeCopy(staging, store => {
      storeId = renewStoreId(store);
      const pause = resumes ? null : holdOf(origin === null ? name : `${name} as of ${turn!.at}`);
      if (pause === null) return;
      const batch = store.batch();
      batch.put('pauses', Buffer.from(pauseKey(pause)), encodePause(pause));
      store.commit(batch);
    });
    const unsettled = await readCopy(staging, unsettledIn);
    putInPlace(staging, statePath, manifest);
    return { statePath, storeId, manifest, turn: turn ?? null, unsettled };
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

async function copyEntry(
  backup: string,
  staging: string,
  entry: BackupManifest['files'][number],
  onBytes?: OnBytes,
): Promise<void> {
  const to = join(staging, entry.name);
  if (dirname(entry.name) !== '.') mkdirSync(dirname(to), { mode: 0o700 });
  const from = join(backup, entry.name);
  if (!existsSync(from)) throw new BackupRefused(`${backup} is not whole: ${entry.name} is missing`);
  const { bytes, sha256 } = await copyFile(from, to, onBytes);
  if (bytes !== entry.bytes) throw new BackupRefused(`${backup} is not whole: ${sizeProblem(entry, bytes)}`);
  if (sha256 !== entry.sha256) throw new BackupRefused(`${backup} is not whole: ${hashProblem(entry, sha256)}`);
}

/** The pause that holds a restored state until somebody resumes it. */
function holdOf(origin: string): Pause {
  return {
    kind: 'system',
    name: '',
    command: null,
    reason: `restored from ${origin}`,
    by: restoreName,
    sinceUs: Date.now() * 1000,
    untilUs: null,
    rejects: false,
  };
}

/** Throws BackupRefused if a living process holds the directory: that process may have accepted jobs that are only in its commit log. */
function assertUnused(statePath: string): void {
  const owner = livingOwner(statePath);
  if (owner !== null) throw new BackupRefused(`${statePath} is in use by process ${owner.pid}: stop it first`);
}

/**
 * Throws BackupRefused if the backup has the unlock key of a vault, and the state directory has another one: that key may be the only one that opens
 * the vault of a later backup.
 */
function assertNoOtherKey(statePath: string, { files }: BackupManifest): void {
  const key = files.find(({ name }) => name === 'vault.key');
  if (key === undefined) return;
  const file = join(statePath, key.name);
  for (const path of [file, nextKeyFile(file)].filter(each => existsSync(each))) {
    if (createHash('sha256').update(readFileSync(path)).digest('hex') !== key.sha256)
      throw new BackupRefused(
        `${path} is another unlock key than that of the backup: move it away first; other backups may need it`,
      );
  }
}

/** Calls `moveFiles` while no other process can make a ledger. Throws BackupRefused if one has made a ledger meanwhile. */
function putInPlace(staging: string, statePath: string, manifest: BackupManifest): void {
  const lock = openCommitLock(statePath);
  try {
    lock.open(() => {
      if (existsSync(ledgerFile(statePath)))
        throw new BackupRefused(
          `a service or another restore made a new state in ${statePath} meanwhile: stop it, move this state away, and restore again`,
        );
      assertUnused(statePath);
      assertNoOtherKey(statePath, manifest);
      moveFiles(
        staging,
        statePath,
        manifest.files.map(entry => entry.name),
      );
    });
  } finally {
    lock.close();
  }
}

/**
 * Moves the files to the state directory: the ledger last, because a state directory with a ledger is whole. The commit log of an earlier ledger is
 * moved aside, and its index removed, because they do not fit the restored ledger. The note of a newer lock than that of the backup stays.
 */
function moveFiles(staging: string, statePath: string, names: readonly BackupFile[]): void {
  const ledger = basename(ledgerFile(statePath));
  moveLogAside(statePath);
  rmSync(indexPath(statePath), { recursive: true, force: true });
  for (const name of names) {
    if (name === ledger || (name === 'seal.json' && lockNumberIn(statePath) > lockNumberIn(staging))) continue;
    const to = join(statePath, name);
    const directory = dirname(to);
    if (directory !== statePath) mkdirSync(directory, { mode: 0o700 });
    renameSync(join(staging, name), to);
    syncDirectory(directory);
  }
  syncDirectory(statePath);
  renameSync(join(staging, ledger), ledgerFile(statePath));
  syncDirectory(statePath);
}

/** The number of the newest lock that the directory notes; 0 if it has no note that can be read. */
function lockNumberIn(directory: string): number {
  try {
    return readAcceptance(directory, diskFiles)?.number ?? 0;
  } catch {
    return 0;
  }
}
