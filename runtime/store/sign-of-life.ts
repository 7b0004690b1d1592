// The holder of a state directory shows that it lives by the time of a file, for those who cannot ask for its process.
import { closeSync, futimesSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';

const renewMs = 1_000;
const lookMs = 50;

/** Shows it until the returned function is called. Throws where the file cannot be made. */
export function showLife(directory: string): () => void {
  const file = openSync(signPath(directory), 'a', 0o600);
  const timer = setInterval(() => {
    const now = new Date();
    try {
      futimesSync(file, now, now);
    } catch {
      // Who is taken for dead for that finds it out at its next commit.
    }
  }, renewMs).unref();
  return () => {
    clearInterval(timer);
    closeSync(file);
  };
}

/** Whether the holder shows life within so long. Holds the thread meanwhile. */
export function showsLife(directory: string, withinMs: number): boolean {
  const path = signPath(directory);
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const firstMs = timeOf(path);
  for (const endMs = performance.now() + withinMs; performance.now() < endMs; ) {
    Atomics.wait(nap, 0, 0, lookMs);
    // Another time, not a later one: clocks are set.
    if (timeOf(path) !== firstMs) return true;
  }
  return false;
}

function signPath(directory: string): string {
  return join(directory, 'alive');
}

function timeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
