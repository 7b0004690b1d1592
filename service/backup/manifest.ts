// The manifest of a backup, which is written last: a directory without one is not a backup.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyName } from '../../runtime/store/copies.ts';
import { formatsRead, formatsReadText, formatVersion } from '../../runtime/store/format.ts';
import { storeIdPattern } from '../../runtime/store/store-id.ts';

export const manifestVersion = 1;
export const manifestName = 'manifest.json';
/** The maximum size of a manifest, in bytes. A larger one is refused. */
const manifestBytesMax = 65_536;

/**
 * The files of a backup, with their paths in a state directory. In this order, they are the ledger, the index, the local API token, the newest lock
 * that the state has accepted, and the unlock key of the vault. Every backup has the ledger.
 */
export const backupFiles = ['data.mdb', 'search/data.mdb', 'api-token', 'seal.json', 'vault.key'] as const;
export type BackupFile = (typeof backupFiles)[number];

export type FileEntry = { readonly name: BackupFile; readonly bytes: number; readonly sha256: string };

export type BackupManifest = {
  readonly headgate_backup: typeof manifestVersion;
  /** The version of headgate that wrote the backup. */
  readonly version: string;
  readonly state_format: number;
  /** The id of the store that was copied; null: the store had no id. */
  readonly store_id: string | null;
  readonly created_at: string;
  /** When the newest stored job was accepted, or the newest stored attempt ended, whichever is later. Null: neither exists. */
  readonly last_commit: string | null;
  /**
   * The newest turn that the backup has, by its number in the commit log, and when it was committed. Null: an earlier version committed it. Absent:
   * an earlier version wrote the backup.
   */
  readonly turn?: { readonly number: number; readonly at: string } | null;
  readonly counts: {
    readonly jobs: number;
    readonly unsettled: number;
    readonly runs_unsettled: number;
    readonly attempts: number;
    readonly schedules: number;
  };
  readonly oldest_unsettled: string | null;
  readonly files: readonly FileEntry[];
};

/** Thrown if a backup cannot be written, verified or restored as asked, or a state cannot be opened; the message says why. */
export class BackupRefused extends Error {}

export function encodeManifest(manifest: BackupManifest): Uint8Array {
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}

/** Whether the directory has a manifest and a copy of the ledger. Other programs have files named `manifest.json`, too. */
export function isBackup(directory: string): boolean {
  return existsSync(join(directory, manifestName)) && existsSync(join(directory, copyName));
}

/** Reads the manifest of a backup. Throws BackupRefused if the directory has no manifest, or if the manifest cannot be used. */
export function readManifest(directory: string): BackupManifest {
  const path = join(directory, manifestName);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new BackupRefused(`${directory} is not a whole backup: it has no ${manifestName}`);
    throw new BackupRefused(`${path} cannot be read: ${message}`);
  }
  return decodeManifest(directory, bytes);
}

/** Decodes the manifest of the backup in `directory`. Throws BackupRefused if it cannot be used. */
export function decodeManifest(directory: string, bytes: Buffer): BackupManifest {
  const path = join(directory, manifestName);
  const refuse = (what: string) => new BackupRefused(`${path} is damaged: ${what}`);
  if (bytes.length > manifestBytesMax) throw refuse(`it has ${bytes.length} bytes`);
  let value: BackupManifest;
  try {
    value = JSON.parse(bytes.toString()) as BackupManifest;
  } catch {
    throw refuse('it is not JSON');
  }
  if (value?.headgate_backup !== manifestVersion)
    throw refuse(`"headgate_backup" is ${JSON.stringify(value?.headgate_backup)}, not ${manifestVersion}`);
  if (!Array.isArray(value.files) || !value.files.every(isEntry)) throw refuse('its list of files cannot be used');
  const names = value.files.map(({ name }) => name);
  if (new Set(names).size < names.length) throw refuse('it lists a file twice');
  if (!names.includes('data.mdb')) throw refuse('it lists no ledger');
  if (value.store_id && !storeIdPattern.test(value.store_id)) throw refuse('its "store_id" is not an id');
  if (value.turn && !isTurn(value.turn)) throw refuse('its turn cannot be used');
  if (!formatsRead.includes(value.state_format)) throw new BackupRefused(wrongFormat(directory, value));
  return value;
}

/** The greatest `turn` in the manifests of this store's backups in `into`; 0 if none has one. Manifests that cannot be used do not count. */
export function newestTurn(into: string, storeId: string): number {
  let newest = 0;
  for (const name of existsSync(into) ? readdirSync(into) : []) {
    try {
      const { store_id: id, turn } = readManifest(join(into, name));
      if (id === storeId && turn) newest = Math.max(newest, turn.number);
    } catch (error) {
      if (!(error instanceof BackupRefused)) throw error;
    }
  }
  return newest;
}

function isTurn({ number, at }: NonNullable<BackupManifest['turn']>): boolean {
  return Number.isSafeInteger(number) && !Number.isNaN(Date.parse(at));
}

function isEntry(entry: FileEntry): boolean {
  return backupFiles.includes(entry?.name) && Number.isSafeInteger(entry.bytes) && /^[0-9a-f]{64}$/.test(entry.sha256);
}

function wrongFormat(directory: string, { state_format: format, version }: BackupManifest): string {
  const remedy = format > formatVersion ? 'use that version or a newer one' : 'restore it with that version first';
  return `${directory} has state format ${JSON.stringify(format)}, written by headgate ${JSON.stringify(version)}; this version reads ${formatsReadText}: ${remedy}`;
}
