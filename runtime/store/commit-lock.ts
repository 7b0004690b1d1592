// A lock between processes. With the lock, no process opens the ledger while another process commits to it.
//
// LMDB keeps the number of the newest commit in `lock.mdb`. A process that opens the store reads this number from the data file and writes
// it to `lock.mdb`, without taking any lock. If another process commits in between, the number in `lock.mdb` goes back. Then the
// next commit overwrites the commit of the other process, and pages that are in use count as free.
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { systemCall } from '../system-library.ts';

/** The operations of `flock`, with the same numbers on Linux and macOS: a shared lock, an exclusive lock, and unlocking. */
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_UN = 8;

export type CommitLock = {
  /** Holds the lock while `act` commits, or replaces the checkpoint. Waits if another process is opening the store. */
  commit<T>(act: () => T): T;
  /** Holds the lock while `act` opens the store. Waits if another process is opening it, or committing. */
  open<T>(act: () => T): T;
  close(): void;
};

/** Opens the lock of a state directory, which must exist. If a process dies, the system releases its lock. */
export function openCommitLock(directory: string): CommitLock {
  const descriptor = openSync(join(directory, 'gate.lock'), 'a', 0o600);
  const flock = systemCall('int flock(int descriptor, int operation)');
  const holding = <T>(operation: number, act: () => T): T => {
    flock(descriptor, operation);
    try {
      return act();
    } finally {
      flock(descriptor, LOCK_UN);
    }
  };
  return {
    commit: act => holding(LOCK_SH, act),
    open: act => holding(LOCK_EX, act),
    close: () => closeSync(descriptor),
  };
}
