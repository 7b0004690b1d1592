// Keeps commits and openings of one store apart, across processes.
//
// LMDB keeps the number of the newest commit in `lock.mdb`. A process that opens the store reads that number from the data file and
// writes it there, without taking any lock. If another process commits in between, the number goes back by one, and the next commit
// overwrites the previous one: that commit is lost, and pages that are in use count as free.
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { systemCall } from '../system-library.ts';

/** Constants of `flock`, on Linux and macOS. */
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_UN = 8;

export type CommitLock = {
  /** Locks for a commit. Waits while another process opens the store. */
  commit<T>(act: () => T): T;
  /** Locks for opening the store. Waits while another process commits. */
  open<T>(act: () => T): T;
  close(): void;
};

/** The lock of this state directory, which must exist. The system releases the lock of a dead process. */
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
