// Restores a state as of a time after a backup. Finds the backup to begin with, and applies the archived commit log (`backups.log`) to a copy of
// this backup.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { archiveOf } from '../../runtime/commit-log/archive.ts';
import { replayArchive } from '../../runtime/store/archive-replay.ts';
import { namesIn } from './kept.ts';
import { type BackupManifest, BackupRefused, manifestName, readManifest } from './manifest.ts';

type Turn = NonNullable<BackupManifest['turn']>;

/** The backup to begin with, and the directory of the log that follows it. */
export type StartingPoint = { readonly backup: string; readonly archive: string; readonly turn: Turn };

/**
 * Finds the backup to begin with, among those whose last turn is not after `untilMs`: the newest one that was begun by then, otherwise the oldest one.
 * A backup of a restored state has the last turn of the original store, but does not lead to what that store did later. `path` is a backup, or a
 * directory of backups. Throws BackupRefused if no backup fits.
 */
export function startBefore(path: string, untilMs: number): StartingPoint {
  const isBackup = existsSync(join(path, manifestName));
  const into = isBackup ? dirname(path) : path;
  const paths = isBackup ? [path] : namesIn(path).map(name => join(path, name));
  let oldest: Turn | null = null;
  let fitting: StartingPoint | null = null;
  for (const backup of paths) {
    const manifest = manifestOf(backup, isBackup);
    if (!manifest?.turn || !manifest.store_id) continue;
    oldest = manifest.turn;
    if (Date.parse(manifest.turn.at) > untilMs) continue;
    fitting = { backup, archive: archiveOf(into, manifest.store_id), turn: manifest.turn };
    if (Date.parse(manifest.created_at) <= untilMs) break;
  }
  if (fitting !== null) return fitting;
  if (paths.length === 0) throw new BackupRefused(`${path} is not a backup, and contains none`);
  throw new BackupRefused(
    oldest === null
      ? `no backup at ${path} says when its last turn was committed, because an earlier version committed it: restore it without --until`
      : `${isBackup ? 'the' : 'the oldest'} backup in ${path} is from ${oldest.at}: name this time or a later one`,
  );
}

/** Brings the copy forward to `untilMs`. Returns the newest turn that the copy then has. Throws BackupRefused if the log does not reach `untilMs`. */
export async function bringForward(
  copy: string,
  { archive, turn, backup }: StartingPoint,
  untilMs: number,
): Promise<Turn> {
  const { last, goesOn } = await replayArchive(copy, archive, untilMs);
  const lastMs = Math.floor(last.atUs / 1000);
  const reached = { number: last.lsn, at: new Date(lastMs).toISOString() };
  if (goesOn || lastMs === untilMs) return reached;
  const reason =
    last.lsn === turn.number
      ? `there is no log directly after the backup ${backup}, so only ${turn.at}, its own time, can be restored; ` +
        '"backups.log: true" keeps the log, and a running service copies it within a minute of a change'
      : `the log in ${archive} goes on from the backup ${backup}, as of ${turn.at}, without a gap until ${reached.at}: name this time or an earlier one`;
  throw new BackupRefused(`${new Date(untilMs).toISOString()} cannot be restored: ${reason}`);
}

/** The manifest of a backup. Null: it is missing or cannot be used. If the caller named this backup (`isNamed`), throws BackupRefused instead. */
function manifestOf(backup: string, isNamed: boolean): BackupManifest | null {
  try {
    return readManifest(backup);
  } catch (error) {
    if (isNamed || !(error instanceof BackupRefused)) throw error;
    return null;
  }
}
