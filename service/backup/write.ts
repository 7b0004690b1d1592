// Writes a backup of a state, while a service may be running on it.
import { existsSync, mkdirSync, readFileSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { newestBlock } from '../../actors/job/records/block.ts';
import { readCounts } from '../../actors/job/records/counts.ts';
import { readUs } from '../../actors/job/records/journal.ts';
import { unsettledIn } from '../../actors/job/views/unsettled.ts';
import { readWrapped, unwrapKeyring } from '../../actors/vault/records/keyring.ts';
import { readUnlockKey } from '../../actors/vault/unlock-key.ts';
import { nextKeyFile } from '../../config/key-file.ts';
import { archivedStore } from '../../runtime/commit-log/archive.ts';
import { replaceFile, syncDirectory, writeSynced } from '../../runtime/durable-file.ts';
import { blockKeyMs } from '../../runtime/ids.ts';
import { type Applied, appliedIn } from '../../runtime/store/applied.ts';
import { copyIndex, copyLedger, readCopy } from '../../runtime/store/copies.ts';
import { formatIn } from '../../runtime/store/format.ts';
import { indexFile } from '../../runtime/store/index-store.ts';
import { hasLedger, ledgerFile } from '../../runtime/store/ledger-store.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { storeIdIn } from '../../runtime/store/store-id.ts';
import { copyFile, hashOf, makeWhole, type OnBytes, partialEnding } from './files.ts';
import {
  type BackupFile,
  type BackupManifest,
  BackupRefused,
  encodeManifest,
  type FileEntry,
  isBackup,
  manifestName,
  manifestVersion,
} from './manifest.ts';

export type BackupOrder = {
  readonly statePath: string;
  /** The path of the backup. If it is an existing directory, the backup is written into it, under a name made from the time. */
  readonly to: string;
  readonly version: string;
  /** The file with the unlock key of the vault, if the backup is to contain the key. */
  readonly vaultKeyFile?: string | undefined;
  /** Whether the index is copied, too. This requires that no service is running. */
  readonly withIndex?: boolean | undefined;
  readonly onBytes?: OnBytes | undefined;
};

export type Backup = { readonly path: string; readonly manifest: BackupManifest };

/** How the process that writes a backup for the service has ended. */
export type BackupEnd =
  | { readonly kind: 'written'; readonly path: string; readonly manifest: BackupManifest }
  /** `refused`: the backup cannot be written to this path, or there is not enough space. `failed`: the disk or the process failed. */
  | { readonly kind: 'refused' | 'failed'; readonly reason: string };

/**
 * Writes a backup. Throws BackupRefused if the state or the key file does not exist, if the key does not open the vault, if there is not enough
 * space, or if the backup cannot be written to `order.to`.
 */
export async function writeBackup(order: BackupOrder): Promise<Backup> {
  const { statePath, version, vaultKeyFile, withIndex = false, onBytes } = order;
  if (!hasLedger(statePath)) throw new BackupRefused(`there is no state in ${statePath}`);
  if (vaultKeyFile !== undefined && !existsSync(vaultKeyFile))
    throw new BackupRefused(`there is no key file ${vaultKeyFile} of the vault`);
  const createdAt = new Date();
  const path = targetOf(order.to, createdAt);
  assertRoom(statePath, dirname(path), withIndex);
  const manifest = await makeWhole(path, async directory => {
    await copyLedger(statePath, directory);
    const sources = new Map<BackupFile, string>();
    for (const name of ['api-token', 'seal.json'] as const) sources.set(name, join(statePath, name));
    const files: FileEntry[] = [];
    for (const [name, from] of sources) {
      if (existsSync(from)) files.push({ name, ...(await copyFile(from, join(directory, name))) });
    }
    if (vaultKeyFile !== undefined) {
      const key = await readCopy(directory, reader => keyFor(reader, vaultKeyFile));
      writeSynced(join(directory, 'vault.key'), key, 0o600);
      files.push(await entryOf(directory, 'vault.key'));
    }
    if (withIndex && existsSync(indexFile(statePath))) {
      mkdirSync(join(directory, 'search'), { mode: 0o700 });
      await copyIndex(statePath, join(directory, 'search'));
      syncDirectory(join(directory, 'search'));
      files.push(await entryOf(directory, 'search/data.mdb', onBytes));
    }
    const facts = await readCopy(directory, factsIn);
    files.unshift(await entryOf(directory, 'data.mdb', onBytes));
    const written = {
      headgate_backup: manifestVersion,
      version,
      created_at: createdAt.toISOString(),
      ...facts,
      files,
    } as const satisfies BackupManifest;
    replaceFile(join(directory, manifestName), encodeManifest(written), 0o600);
    return written;
  });
  return { path, manifest };
}

/** The pattern of the names that backups get in a directory. These names sort by time. */
export const backupNamePattern = /^headgate-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/;

export function nameOf(at: Date): string {
  return `headgate-${at.toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
}

function targetOf(to: string, at: Date): string {
  const path = resolve(to);
  const found = statSync(path, { throwIfNoEntry: false });
  const parent = dirname(path);
  if (!found && !statSync(parent, { throwIfNoEntry: false })?.isDirectory())
    throw new BackupRefused(`the directory ${parent} does not exist`);
  assertUsable(path);
  assertWithin(realpathSync(found ? path : parent));
  if (found?.isDirectory()) {
    // A second backup within the same second gets the name of the next free second.
    for (let ms = at.getTime(); ; ms += 1_000) {
      const named = join(path, nameOf(new Date(ms)));
      if (!existsSync(named)) return named;
    }
  }
  if (found) throw new BackupRefused(`${path} exists already; a backup never overwrites anything`);
  if (!/^[^.\0][^\0]*$/.test(basename(path))) throw new BackupRefused(`${path} must not begin with a dot`);
  if (path.endsWith(partialEnding))
    throw new BackupRefused(`${path} must not end with ${partialEnding}: unfinished backups do`);
  return path;
}

/** Asserts that neither the path nor a directory above it is a backup, or is for the copies of a commit log. The path must exist. */
function assertWithin(path: string): void {
  assertUsable(path);
  const parent = dirname(path);
  if (parent !== path) assertWithin(parent);
}

function assertUsable(path: string): void {
  if (isBackup(path)) throw new BackupRefused(`${path} is a backup already; name another path`);
  if (archivedStore(basename(path)) !== null)
    throw new BackupRefused(`${path} is for the copies of a commit log; name another path`);
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Throws BackupRefused if there is not enough space: for the copy, on the disk of the backup, and for the growth of the ledger, on the disk of the
 * state. During the copy the ledger may grow by its own size, because it cannot reuse pages.
 */
function assertRoom(statePath: string, home: string, withIndex: boolean): void {
  const growth = bytesOf(ledgerFile(statePath));
  const copied = growth + (withIndex ? bytesOf(indexFile(statePath)) : 0);
  if (statSync(statePath).dev === statSync(home).dev) {
    assertFree(home, copied + growth, 'for the copy and the growth of the ledger meanwhile');
  } else {
    assertFree(home, copied, 'for the copy');
    assertFree(statePath, growth, 'for the growth of the ledger meanwhile');
  }
}

function assertFree(directory: string, neededBytes: number, purpose: string): void {
  const { bavail, bsize } = statfsSync(directory);
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  const [free, needed] = [freeBytes, neededBytes].map(each => `${(each / 2 ** 20).toFixed(1)} MiB`);
  throw new BackupRefused(`the disk of ${directory} has ${free} free; this backup needs ${needed} there, ${purpose}`);
}

async function entryOf(directory: string, name: BackupFile, onBytes?: OnBytes): Promise<FileEntry> {
  return { name, ...(await hashOf(join(directory, name), onBytes)) };
}

/**
 * The unlock key that opens the vault in the copy of the ledger. A change of the key may be incomplete or may have happened meanwhile, so the new
 * key may be in the file beside the key file. If the copy has no vault, returns what is in the key file.
 */
function keyFor(reader: Reader, keyFile: string): Uint8Array {
  const wrapped = readWrapped(reader);
  if (wrapped === undefined) return readFileSync(keyFile);
  for (const file of [keyFile, nextKeyFile(keyFile)]) {
    const key = readUnlockKey({ file, variable: undefined });
    if (typeof key !== 'string' && unwrapKeyring(key, wrapped)) return key;
  }
  throw new BackupRefused(
    `no key at ${keyFile} opens the vault of this backup: if the key was changed meanwhile, repeat the backup`,
  );
}

type Facts = Required<
  Pick<BackupManifest, 'state_format' | 'store_id' | 'last_commit' | 'turn' | 'counts' | 'oldest_unsettled'>
>;

function factsIn(reader: Reader): Facts {
  const { jobs, runs, oldestMs } = unsettledIn(reader);
  const accepted = readCounts(reader).reduce((sum, { counts }) => sum + counts.accepted, 0);
  const [attempts, schedules] = [reader.count('attempts'), reader.count('schedules')];
  const newest = newestBlock(reader);
  let lastMs = newest ? blockKeyMs(newest) : null;
  for (const key of reader.keys('journal', { reverse: true, limit: 1 }))
    lastMs = Math.max(lastMs ?? 0, Math.floor(readUs(key) / 1000));
  return {
    state_format: formatIn(reader) ?? 0,
    store_id: storeIdIn(reader),
    last_commit: isoOf(lastMs),
    turn: turnOf(appliedIn(reader)),
    counts: { jobs: accepted, unsettled: jobs, runs_unsettled: runs, attempts, schedules },
    oldest_unsettled: isoOf(oldestMs),
  };
}

function turnOf(applied: Applied | null): Facts['turn'] {
  if (applied === null || applied.atUs === null) return null;
  return { number: applied.lsn, at: new Date(Math.floor(applied.atUs / 1000)).toISOString() };
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
