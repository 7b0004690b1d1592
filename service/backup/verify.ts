// Verifies a backup without changing it: the hashes of its files, the structure of its ledger, and the records in it.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type InvariantFailure, selfcheck } from '../../actors/job/views/selfcheck.ts';
import { type Unsettled, unsettledIn } from '../../actors/job/views/unsettled.ts';
import { wholly } from '../../runtime/slices.ts';
import { readCopy } from '../../runtime/store/copies.ts';
import { StoreDamaged } from '../../runtime/store/damage.ts';
import { formatVersion } from '../../runtime/store/format.ts';
import { hashOf, type OnBytes } from './files.ts';
import { type BackupManifest, type FileEntry, readManifest } from './manifest.ts';

export type Verification = {
  readonly manifest: BackupManifest;
  /** The problems of the backup; empty if the backup is whole. */
  readonly problems: readonly string[];
  /** The unsettled jobs and runs in the backup. Null: its ledger was not opened, or is damaged. */
  readonly unsettled: Unsettled | null;
  /** How much of the ledger was compared; null: the ledger was not opened, is damaged, or has an older format. */
  readonly selfcheck: string | null;
};

/** Verifies a backup. Throws BackupRefused if the directory is not a backup, or if its manifest cannot be used. */
export async function verifyBackup(directory: string, onBytes: OnBytes = () => {}): Promise<Verification> {
  const manifest = readManifest(directory);
  const problems: string[] = [];
  for (const entry of manifest.files) {
    const wrong = await wrongIn(directory, entry, onBytes);
    if (wrong !== null) problems.push(wrong);
  }
  // LMDB trusts the pages that it reads, so the ledger is opened only if all files are as the manifest says.
  if (problems.length > 0) return { manifest, problems, unsettled: null, selfcheck: null };
  try {
    return await readCopy(directory, async reader => {
      const unsettled = unsettledIn(reader);
      // The first start of a service completes the records of an older format, so until then they cannot be compared.
      if (manifest.state_format !== formatVersion) return { manifest, problems, unsettled, selfcheck: null };
      const { failures, detail } = await selfcheck({
        reader,
        askIdle: () => Promise.resolve(null),
        pause: () => Promise.resolve(),
        run: wholly,
      });
      problems.push(...failures.map(failureText));
      return { manifest, problems, unsettled, selfcheck: detail };
    });
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error;
    return { manifest, problems: [`the ledger is damaged: ${error.damage}`], unsettled: null, selfcheck: null };
  }
}

async function wrongIn(directory: string, entry: FileEntry, onBytes: OnBytes): Promise<string | null> {
  const path = join(directory, entry.name);
  const bytes = statSync(path, { throwIfNoEntry: false })?.size;
  if (bytes === undefined) return `${entry.name} is missing`;
  if (bytes !== entry.bytes) return sizeProblem(entry, bytes);
  const { sha256 } = await hashOf(path, onBytes);
  return sha256 === entry.sha256 ? null : hashProblem(entry, sha256);
}

/** Describes a file whose size differs from the size in its entry. */
export function sizeProblem({ name, bytes }: FileEntry, found: number): string {
  return `${name} has ${found} bytes, not ${bytes}`;
}

/** Describes a file whose hash differs from the hash in its entry. */
export function hashProblem({ name, sha256 }: FileEntry, found: string): string {
  return `${name} was changed or damaged: its sha256 is ${found.slice(0, 16)}…, not ${sha256.slice(0, 16)}…`;
}

function failureText({ invariant, detail }: InvariantFailure): string {
  return `the selfcheck found that ${invariant} does not hold: ${detail}`;
}
