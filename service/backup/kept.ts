// The backups in the directory `backups.into` whose names are times: finds the newest one, and removes backups that newer ones replace.
import { existsSync, readdirSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { archivedStore } from '../../runtime/commit-log/archive.ts';
import { firstNeeded } from '../../runtime/commit-log/log-reader.ts';
import { listSegments } from '../../runtime/commit-log/segments.ts';
import { syncDirectoryAside } from '../../runtime/durable-file.ts';
import { decodeManifest, manifestName, readManifest } from './manifest.ts';
import { backupNamePattern, nameOf } from './write.ts';

/** The names of the backups in `into` that have times as names, newest first. Backups that are not whole are included. */
export function namesIn(into: string): readonly string[] {
  return existsSync(into) ? backupNames(readdirSync(into)) : [];
}

function backupNames(names: readonly string[]): string[] {
  return names
    .filter(name => backupNamePattern.test(name))
    .sort()
    .reverse();
}

/** A whole backup, and when it was begun, in ms. */
export type FoundBackup = { readonly path: string; readonly ms: number };

/**
 * The newest whole backup of this store. Null: no such backup exists. A backup without a store id counts for every store. If `storeId` is null,
 * every backup counts. Backups with a time after `nowMs` do not count: the clock was wrong when they were begun.
 */
export async function newestBackup(into: string, storeId: string | null, nowMs: number): Promise<FoundBackup | null> {
  for (const name of backupNames(await namesOf(into))) {
    const path = join(into, name);
    try {
      const { store_id: id, created_at: createdAt } = decodeManifest(path, await readFile(join(path, manifestName)));
      const ms = Date.parse(createdAt);
      if (ms <= nowMs && (!id || storeId === null || id === storeId)) return { path, ms };
    } catch {
      // The manifest of this backup cannot be used, so the next older backup counts.
    }
  }
  return null;
}

/** The names in a directory; none if it does not exist. */
async function namesOf(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Removes all but the newest `keep` whole backups of this store, and returns the paths of the removed ones. `written` is the name of the backup that
 * was just written: it counts as the newest. Backups with a time after `nowMs` count as the oldest. Backups of other stores stay. The manifest is
 * removed first: a directory that a crash leaves behind has no manifest, and is removed the next time.
 */
export async function removeOlder(
  into: string,
  keep: number,
  written: string,
  storeId: string | null,
  nowMs: number,
): Promise<readonly string[]> {
  const names = namesIn(into).filter(name => !isOfOther(join(into, name), storeId));
  const whole = names.filter(name => existsSync(join(into, name, manifestName)));
  const now = nameOf(new Date(nowMs));
  const newestFirst = new Set([written, ...whole.filter(name => name <= now), ...whole.filter(name => name > now)]);
  const kept = [...newestFirst].slice(0, keep);
  const removed = names.filter(name => !kept.includes(name)).map(name => join(into, name));
  for (const path of removed) {
    if (existsSync(join(path, manifestName))) {
      await rm(join(path, manifestName));
      await syncDirectoryAside(path);
    }
    await rm(path, { recursive: true, force: true });
  }
  return removed;
}

/** Whether the backup names another store than `storeId`. A backup whose manifest is missing or cannot be used names none. */
function isOfOther(backup: string, storeId: string | null): boolean {
  try {
    const { store_id: id } = readManifest(backup);
    return Boolean(id) && storeId !== null && id !== storeId;
  } catch {
    return false;
  }
}

/**
 * Removes the archived segments of commit logs that no kept backup needs, and returns their paths. If no manifest of a backup of the store `storeId`
 * has a `turn`, the log of that store is kept. Throws BackupRefused if the manifest of a backup cannot be read: the segments that the backup needs
 * are then unknown.
 */
export async function removeOldLogs(into: string, storeId: string | null): Promise<readonly string[]> {
  const oldest = new Map<string, number>();
  for (const name of namesIn(into)) {
    const path = join(into, name);
    if (!existsSync(join(path, manifestName))) continue;
    const { store_id: id, turn } = readManifest(path);
    if (id && turn) oldest.set(id, Math.min(oldest.get(id) ?? Infinity, turn.number));
  }
  const removed: string[] = [];
  for (const name of readdirSync(into)) {
    const store = archivedStore(name);
    if (store === null) continue;
    const path = join(into, name);
    const turn = oldest.get(store);
    if (turn === undefined && store === storeId) continue;
    const segments = listSegments(path);
    const unneeded = turn === undefined ? segments : segments.slice(0, firstNeeded(segments, turn));
    for (const segment of unneeded) {
      await rm(segment.path, { force: true });
      removed.push(segment.path);
    }
    if (turn === undefined) await rm(path, { recursive: true, force: true });
  }
  return removed;
}
