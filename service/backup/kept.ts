// The backups in the directory `backups.into` whose names are times: the newest, and those that newer ones replace.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncDirectory } from '../../runtime/durable-file.ts';
import { manifestName, readManifest } from './manifest.ts';
import { backupNamePattern } from './write.ts';

/** Their names, the newest first. */
function namesIn(into: string): readonly string[] {
  if (!existsSync(into)) return [];
  const names = readdirSync(into).filter(name => backupNamePattern.test(name));
  return names.sort().reverse();
}

/** When the newest whole backup was written, in ms. Null: there is none. */
export function newestBackupMs(into: string): number | null {
  for (const name of namesIn(into)) {
    try {
      return Date.parse(readManifest(join(into, name)).created_at);
    } catch {
      // This backup is not whole, so the next older one counts.
    }
  }
  return null;
}

/**
 * Removes all but the newest `keep` whole backups, and returns the paths of the removed ones. The manifest is removed first: a directory
 * that a crash leaves behind has no manifest, and is removed the next time.
 */
export function removeOlder(into: string, keep: number): readonly string[] {
  const names = namesIn(into);
  const whole = names.filter(name => existsSync(join(into, name, manifestName)));
  const kept = new Set(whole.slice(0, keep));
  const removed = names.filter(name => !kept.has(name)).map(name => join(into, name));
  for (const path of removed) {
    if (existsSync(join(path, manifestName))) {
      rmSync(join(path, manifestName));
      syncDirectory(path);
    }
    rmSync(path, { recursive: true, force: true });
  }
  return removed;
}
