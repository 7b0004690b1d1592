// How long the event loop of the service stood still: measured inside it, by a module that is loaded before it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Pause = {
  readonly atMs: number;
  /** Duration by the clock, which includes waiting for a processor on a busy machine. */
  readonly wallMs: number;
  /** CPU time of the main thread during the pause. */
  readonly workMs: number;
};

const tickMs = 5;
const notedMs = 25;

const probe = `
import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
const at = process.argv.indexOf('--config');
if (isMainThread && at > 0) {
  const file = process.argv[at + 1] + '/pauses';
  const note = (wallMs, workMs) => appendFileSync(file, JSON.stringify({ atMs: Date.now(), wallMs, workMs }) + '\\n');
  const usedMs = () => Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'latin1').split(' ')[0]) / 1e6;
  note(0, 0);
  let last = performance.now();
  let used = usedMs();
  setInterval(() => {
    const wallMs = performance.now() - last - ${tickMs};
    const workMs = usedMs() - used;
    if (wallMs > ${notedMs}) note(wallMs, workMs);
    last = performance.now();
    used = usedMs();
  }, ${tickMs}).unref();
}
`;

/** An environment in which the service notes its pauses in a file of its directory; its start is noted as a pause of 0 ms. */
export const noting = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(probe)}` };

/** The pauses noted since then, in descending order of `workMs`. */
export function pausesSince(directory: string, atMs: number): Pause[] {
  const file = join(directory, 'pauses');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  const pauses = lines.map(line => JSON.parse(line) as Pause);
  return pauses.filter(pause => pause.atMs >= atMs).sort((a, b) => b.workMs - a.workMs);
}
