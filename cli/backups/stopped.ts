// Holds the state directory, so that no service runs on it.
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';

/** Runs `work` while this process holds the state. If a service runs on it, throws a `CommandFailure` that begins with `why`. */
export async function whileStopped<T>(statePath: string, why: string, work: () => Promise<T>): Promise<T> {
  const { openStore, StoreHeld } = await import('../../runtime/store/lmdb.ts');
  try {
    const store = openStore(statePath);
    try {
      return await work();
    } finally {
      store.close();
    }
  } catch (error) {
    if (!(error instanceof StoreHeld)) throw error;
    const detail = `${why}: ${statePath} is in use by process ${error.holder.pid}`;
    throw failure(exitStatus.busy, error.code, 'In use', detail, error);
  }
}
