// A directory that is a backup only by its manifest.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../../runtime/durable-file.ts';
import { formatVersion } from '../../../runtime/store/format.ts';
import { type BackupManifest, encodeManifest, manifestName } from '../../../service/backup/manifest.ts';

/** `facts` replace those of an empty backup. */
export function writeManifest(directory: string, facts: Partial<BackupManifest>): void {
  mkdirSync(directory, { recursive: true });
  const manifest: BackupManifest = {
    headgate_backup: 1,
    version: '0.1.0',
    state_format: formatVersion,
    store_id: null,
    created_at: '2026-01-01T00:00:00.000Z',
    last_commit: null,
    turn: null,
    counts: { jobs: 0, unsettled: 0, runs_unsettled: 0, attempts: 0, schedules: 0 },
    oldest_unsettled: null,
    files: [{ name: 'data.mdb', bytes: 0, sha256: '0'.repeat(64) }],
    ...facts,
  };
  replaceFile(join(directory, manifestName), encodeManifest(manifest), 0o600);
}
