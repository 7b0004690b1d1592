// A ledger on disk that can be killed without its process: what is on disk at that moment is copied, and the copy is recovered.
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { churnBytesMin, segmentBytesMin } from '../../runtime/commit-log/log-sizes.ts';
import { openStore } from '../../runtime/store/ledger-store.ts';
import { ownerPath } from '../../runtime/store/owner.ts';
import type { Store } from '../../runtime/store/store.ts';

export type KillableStore = Store & {
  /** Opens the store again: after a normal close if `isClean`, otherwise with a recovery of what is on disk at this moment. */
  restart(isClean: boolean): void;
  checkpoint(): void;
};

/** The store is in `directory`, which must be empty and is removed by `close`. */
export function openKillableStore(directory: string): KillableStore {
  const options = { log: { segmentBytes: segmentBytesMin, churnBytes: churnBytesMin } };
  let lives = 0;
  let path = join(directory, '0');
  let store = openStore(path, options);

  function kill(): void {
    const killed = path;
    path = join(directory, String(++lives));
    cpSync(killed, path, { recursive: true });
    // This process lives on, so the copy must not name it as its owner.
    rmSync(ownerPath(path));
    store.close();
    rmSync(killed, { recursive: true });
  }

  return {
    get: (table, key) => store.get(table, key),
    peek: (table, key) => store.peek(table, key),
    scan: (table, range) => store.scan(table, range),
    keys: (table, range) => store.keys(table, range),
    count: table => store.count(table),
    refresh: () => store.refresh(),
    batch: () => store.batch(),
    commit: batch => store.commit(batch),
    checkpoint: () => store.checkpoint(),
    restart(isClean) {
      if (isClean) store.close();
      else kill();
      store = openStore(path, options);
    },
    close() {
      store.close();
      rmSync(directory, { recursive: true });
    },
  };
}
