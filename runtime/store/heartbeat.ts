// The sign of life of the process that holds a state directory: the process renews the modification time of a file. Processes in
// another pid namespace watch the file, because they cannot find the holder by its pid.
import { closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

const renewMs = 1_000;
const checkMs = 50;

/** The state in which the thread renews the time; any other value ends the thread. */
const renewing = 0;
const over = 1;

/**
 * The code of the thread that renews the time. The thread never waits for the thread that commits, so that neither a slow
 * disk nor a long turn stops it. The code is a text, because it must run from the sources as well as from the build.
 */
const code = `
  const { closeSync, futimesSync, openSync } = require('node:fs');
  const { path, state, renewMs } = require('node:worker_threads').workerData;
  // The file exists already. This thread may start late, when the holder has ended, and must not create it then.
  const file = openSync(path, 'r+');
  while (Atomics.load(state, 0) === ${renewing}) {
    const now = new Date();
    // If the time cannot be set, another process may take the directory over. The next commit checks the owner, and then fails.
    try { futimesSync(file, now, now); } catch {}
    Atomics.wait(state, 0, ${renewing}, renewMs);
  }
  closeSync(file);
`;

/** Creates the file, and renews its modification time until the returned function is called. Throws if the file cannot be created. */
export function startHeartbeat(directory: string): () => void {
  const path = signPath(directory);
  closeSync(openSync(path, 'a', 0o600));
  const state = new Int32Array(new SharedArrayBuffer(4));
  const start = (): void => {
    const worker = new Worker(code, { eval: true, env: {}, execArgv: [], workerData: { path, state, renewMs } });
    worker.unref();
    // If the thread fails, for example because it lacks memory or descriptors at its start, another one is started after a pause.
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

/** Whether the holder shows a sign of life within this time. Blocks the calling thread until it does, or until the time is over. */
export function hasHeartbeat(directory: string, withinMs: number): boolean {
  const path = signPath(directory);
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const firstMs = timeOf(path);
  for (const endMs = performance.now() + withinMs; performance.now() < endMs; ) {
    Atomics.wait(nap, 0, 0, checkMs);
    // Any change counts, even one to an earlier time, because clocks can be set.
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
