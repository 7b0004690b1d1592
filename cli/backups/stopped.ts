// Holds the state directory while a command works on it, so that no service can start on it.
import type { Config } from '../../config/config.ts';
import type { LedgerStore, StoreOptions } from '../../runtime/store/ledger-store.ts';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';

/**
 * Runs `work` while this process holds the state. The state keeps its format, unless `upgrades` is true. With `until`, all turns after it are
 * given up. If another process holds the state, throws a `CommandFailure` whose message begins with `why`.
 */
export async function whileStopped<T>(
  state: Pick<Config['state'], 'path' | 'log'> & Pick<StoreOptions, 'until' | 'upgrades'>,
  why: string,
  work: (store: LedgerStore) => Promise<T>,
): Promise<T> {
  const { path, log, until, upgrades = false } = state;
  const { assertUser, openStore } = await import('../../runtime/store/ledger-store.ts');
  assertUser(path);
  return unlessHeld(path, why, async () => {
    const store = openStore(path, { log, upgrades, ...(until !== undefined && { until }) });
    try {
      return await work(store);
    } finally {
      store.close();
    }
  });
}

/** Runs `work`. If `work` throws StoreHeld, throws a `CommandFailure` whose message begins with `why`. */
export async function unlessHeld<T>(path: string, why: string, work: () => Promise<T>): Promise<T> {
  const { StoreHeld } = await import('../../runtime/store/owner.ts');
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreHeld)) throw error;
    const detail = `${why}: ${path} is in use by process ${error.holder.pid}`;
    throw failure(exitStatus.busy, error.code, 'In use', detail, error);
  }
}
