// The processes that read a ledger without holding it. A recovery would change pages that these processes read, so it waits for them first.
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { withFile } from '../durable-file.ts';
import { systemCall } from '../system-library.ts';

/** The operations of `flock`, with the same numbers on Linux and macOS: a shared lock, an exclusive lock, and not waiting for a lock. */
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;

/** The maximum time that a recovery waits for readers, by default. */
export const readersMsMax = 5_000;
const checkMs = 20;
const lockMode = 0o600;

/** Registers this process as a reader until the returned function is called. If the process dies, the system unregisters it. */
export function registerReader(directory: string): () => void {
  const descriptor = openSync(lockPath(directory), 'a', lockMode);
  flock(descriptor, LOCK_SH);
  return () => closeSync(descriptor);
}

/** Waits until no process is registered, and blocks the calling thread. Returns null or, when the time is over, the pids of the readers. */
export function awaitNoReaders(directory: string, withinMs: number): readonly number[] | null {
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const wait = (descriptor: number) => {
    for (const endMs = performance.now() + withinMs; ; Atomics.wait(nap, 0, 0, checkMs)) {
      try {
        flock(descriptor, LOCK_EX | LOCK_NB);
        return null;
      } catch {
        if (performance.now() >= endMs) return holdersOf(directory);
      }
    }
  };
  return withFile(lockPath(directory), 'a', wait, lockMode);
}

function lockPath(directory: string): string {
  return join(directory, 'readers.lock');
}

function flock(descriptor: number, operation: number): void {
  systemCall('int flock(int descriptor, int operation)')(descriptor, operation);
}

/** The pids that hold the lock, as far as the system shows them. */
function holdersOf(directory: string): number[] {
  try {
    const { ino } = statSync(lockPath(directory));
    const held = new RegExp(`^\\d+: FLOCK +\\w+ +READ +(\\d+) [0-9a-f]+:[0-9a-f]+:${ino} `, 'gm');
    return [...readFileSync('/proc/locks', 'latin1').matchAll(held)].map(([, pid]) => Number(pid));
  } catch {
    return [];
  }
}
