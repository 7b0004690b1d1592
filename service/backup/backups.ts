// The backups of a running service: scheduled backups (`backups.every`), and backups that callers request. One backup is written at a time.
import { type ChildProcess, spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/config.ts';
import { pluginEnvironment } from '../../runtime/host/client/environment.ts';
import type { Logger } from '../../runtime/log.ts';
import { type FoundBackup, newestBackup, removeOlder, removeOldLogs } from './kept.ts';
import { manifestName } from './manifest.ts';
import type { ServiceOrder } from './process.ts';
import type { BackupEnd } from './write.ts';

export type BackupReply = BackupEnd | { readonly kind: 'running' };

export type BackupsOptions = {
  readonly config: () => Config;
  readonly log: Logger;
  readonly version: string;
  readonly storeId: () => string | null;
  /** Whether the state was restored and nobody has resumed it yet. */
  readonly isHeld: () => boolean;
  readonly archiveFailure: () => BackupCondition['archiveFailure'];
};

/** The state of the scheduled backups, for the doctor and the metrics. */
export type BackupCondition = {
  /**
   * When the newest whole backup in `backups.into` was begun. Backups of other stores, backups whose names are not times, and backups with a time in
   * the future do not count. Null: there is none, or the directory cannot be read.
   */
  readonly newestMs: number | null;
  /** Why the last scheduled backup was not written. Null: it or a later backup was written, or no scheduled backup has been tried. */
  readonly failure: string | null;
  /** Why the last attempt to archive the commit log failed. Null: it succeeded, or there was none. */
  readonly archiveFailure: string | null;
  readonly startedAtMs: number;
};

/** The result of the last search for the newest backup. `readMs`: the time of the search, in ms of the process's monotonic clock. */
type Newest = {
  readonly into: string;
  readonly storeId: string | null;
  readonly found: FoundBackup | null;
  readonly readMs: number;
};

const checkMs = 1_000;
/** The directory of the backups is searched again after this time. */
const searchMs = 60_000;
/** After a failure, a scheduled backup is tried again after this time, or after `every` if that is shorter. */
const retryMs = 300_000;
/** A path below `backups.into`: at most 8 names, separated by slashes. No name begins with a dot. */
export const backupPathPattern = '^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,127}){0,7}$';

export class Backups {
  /** The number of backups since startup, by outcome. */
  readonly outcomes = new Map<BackupEnd['kind'], number>([
    ['written', 0],
    ['refused', 0],
    ['failed', 0],
  ]);
  readonly #options: BackupsOptions;
  readonly #startedAtMs = Date.now();
  #timer: NodeJS.Timeout | null = null;
  #child: ChildProcess | null = null;
  #isRunning = false;
  #failure: string | null = null;
  /** When the last scheduled backup ended, in ms of the process's monotonic clock. Used only if that backup failed. */
  #failedMs = 0;
  #newest: Newest | null = null;
  #isSearching = false;

  constructor(options: BackupsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#check(), checkMs);
    this.#timer.unref();
    void this.#search();
  }

  /** Stops the schedule, and a backup that is being written. Its unfinished directory is removed by the next backup into the same directory. */
  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#child?.kill('SIGKILL');
  }

  get condition(): BackupCondition {
    const archiveFailure = this.#options.archiveFailure();
    const newestMs = this.#newest?.found?.ms ?? null;
    return { newestMs, failure: this.#failure, archiveFailure, startedAtMs: this.#startedAtMs };
  }

  /** Writes a backup to `path` below `backups.into`. Null: the backup gets a name made from the time. */
  async write(path: string | null): Promise<BackupReply> {
    if (this.#isRunning) return { kind: 'running' };
    this.#isRunning = true;
    const end = await this.#write(path);
    this.#isRunning = false;
    return end;
  }

  async #write(path: string | null): Promise<BackupEnd> {
    const { config, log } = this.#options;
    const { into } = config().backups;
    log.info({ into }, 'a backup begins; until it ends, the ledger reuses no page that was in use');
    const startMs = performance.now();
    const end = await this.#run(into, path).catch((error: Error): BackupEnd => {
      return { kind: 'failed', reason: error.message };
    });
    this.#child = null;
    this.outcomes.set(end.kind, this.outcomes.get(end.kind)! + 1);
    if (end.kind === 'written') {
      const bytes = end.manifest.files.reduce((sum, file) => sum + file.bytes, 0);
      const tookMs = Math.round(performance.now() - startMs);
      log.info({ path: end.path, bytes, took_ms: tookMs }, 'a backup was written');
      // A path that a caller has chosen is left to the next search: the backup counts only if its name is a time.
      if (path === null) {
        const found = { path: end.path, ms: Date.parse(end.manifest.created_at) };
        this.#newest = { into, storeId: this.#options.storeId(), found, readMs: performance.now() };
      }
    } else {
      log.error({ into, reason: end.reason }, 'a backup was not written');
    }
    return end;
  }

  async #run(into: string, path: string | null): Promise<BackupEnd> {
    const { config, version } = this.#options;
    const order = JSON.stringify({ into, path, statePath: config().state.path, version } satisfies ServiceOrder);
    const main = fileURLToPath(new URL('./process.js', import.meta.url));
    const child = spawn(process.execPath, [main, order], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: pluginEnvironment(process.env, []),
    });
    this.#child = child;
    const ended = new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (status, signal) => resolve(signal ?? `exit status ${status}`));
    });
    const [said, how] = await Promise.all([text(child.stdout), ended]);
    if (said === '') return { kind: 'failed', reason: `the process that writes the backup ended with ${how}` };
    return JSON.parse(said) as BackupEnd;
  }

  async #check(): Promise<void> {
    if (this.#isRunning || !(await this.#search())) return;
    const { everyMs, into, keep } = this.#options.config().backups;
    // While the search waited for the disk, the service may have been stopped, a backup begun or the directory changed.
    if (this.#timer === null || this.#isRunning || this.#newest?.into !== into || everyMs === null) return;
    const nowMs = Date.now();
    const newestMs = this.#newest.found?.ms ?? null;
    if (newestMs !== null && nowMs >= newestMs && nowMs < newestMs + everyMs) {
      this.#failure = null;
      return;
    }
    const sinceFailedMs = performance.now() - this.#failedMs;
    if (this.#failure !== null && sinceFailedMs < Math.min(everyMs, retryMs)) return;
    if (this.#options.isHeld()) return;
    void this.#writeScheduled(into, keep);
  }

  /** Writes a scheduled backup, and then removes old ones. Until they are removed, no other backup begins. */
  async #writeScheduled(into: string, keep: number): Promise<void> {
    this.#isRunning = true;
    const end = await this.#write(null);
    this.#failure = end.kind === 'written' ? null : end.reason;
    this.#failedMs = performance.now();
    if (end.kind === 'written') await this.#remove(into, keep, basename(end.path));
    this.#isRunning = false;
  }

  /** Removes old backups and old segments of the commit log, after the backup with the name `written` was written. */
  async #remove(into: string, keep: number, written: string): Promise<void> {
    const { log } = this.#options;
    try {
      const storeId = this.#options.storeId();
      const older = await removeOlder(into, keep, written, storeId, Date.now());
      for (const path of older) log.info({ path }, 'an old backup was removed');
      const logs = await removeOldLogs(into, storeId);
      if (logs.length > 0) log.info({ segments: logs.length }, 'the commit log before the oldest backup was removed');
    } catch (error) {
      log.error({ into, reason: (error as Error).message }, 'an old backup cannot be removed');
    }
  }

  /**
   * Searches for the newest backup (`newestBackup`), unless the last search is recent. If the directory cannot be read, none is found. A
   * backup is then due, and writing it fails and reports why. Returns false if an earlier search has not ended, because the disk hangs.
   */
  async #search(): Promise<boolean> {
    if (this.#isSearching) return false;
    this.#isSearching = true;
    const { config, log } = this.#options;
    const { into } = config().backups;
    const storeId = this.#options.storeId();
    const known = this.#newest;
    if (known?.into !== into || known.storeId !== storeId || !(await isFresh(known))) {
      const found = await newestBackup(into, storeId, Date.now()).catch((error: Error) => {
        log.error({ into, reason: error.message }, 'the directory of the backups cannot be read');
        return null;
      });
      // A backup that was written meanwhile is newer.
      if (this.#newest === known) this.#newest = { into, storeId, found, readMs: performance.now() };
    }
    this.#isSearching = false;
    return true;
  }
}

/** Whether the search was less than `searchMs` ago, and the backup that it found still exists. */
async function isFresh({ found, readMs }: Newest): Promise<boolean> {
  if (performance.now() - readMs >= searchMs) return false;
  if (found === null) return true;
  return access(join(found.path, manifestName)).then(
    () => true,
    () => false,
  );
}
