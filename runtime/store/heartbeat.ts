// The holder of a state directory shows that it is alive by renewing the time of a file, for processes that cannot look it up by its
// pid.
import { closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

const renewMs = 1_000;
const lookMs = 50;

/** The state of the renewing thread; any other value ends it. */
const renewing = 0;
const over = 1;

/**
 * The thread that renews the time. It shares nothing with the committing thread, so that neither a slow disk nor a long turn stops it.
 * Its code is text, because it must work from the sources and from the build.
 */
const code = `
  const { closeSync, futimesSync, openSync } = require('node:fs');
  const { path, state, renewMs } = require('node:worker_threads').workerData;
  // The file is there: a thread that starts late, when all is over, must not create it again.
  const file = openSync(path, 'r+');
  do {
    const now = new Date();
    // If the time cannot be set, another process may take over; the owner check of the next commit finds that.
    try { futimesSync(file, now, now); } catch {}
  } while (Atomics.wait(state, 0, ${renewing}, renewMs) === 'timed-out');
  closeSync(file);
`;

/** Renews the time until the returned function is called. Throws if the file cannot be created. */
export function startHeartbeat(directory: string): () => void {
  const path = signPath(directory);
  closeSync(openSync(path, 'a', 0o600));
  const state = new Int32Array(new SharedArrayBuffer(4));
  const start = (): void => {
    const worker = new Worker(code, { eval: true, env: {}, execArgv: [], workerData: { path, state, renewMs } });
    worker.unref();
    // A thread that could not start (no memory, no descriptor) is replaced after a pause.
    worker.on('error', () => {
      if (state[0] === renewing) setTimeout(start, renewMs).unref();
    });
  };
  start();
  return () => {
    Atomics.store(state, 0, over);
    Atomics.notify(state, 0);
  };
}

/** Whether the holder shows a sign of life within this time. Blocks the thread meanwhile. */
export function hasHeartbeat(directory: string, withinMs: number): boolean {
  const path = signPath(directory);
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const firstMs = timeOf(path);
  for (const endMs = performance.now() + withinMs; performance.now() < endMs; ) {
    Atomics.wait(nap, 0, 0, lookMs);
    // Any change counts, not only to a later time, because clocks can be set.
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
