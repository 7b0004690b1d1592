// The server of a peer. It is started in a directory of its own, reached by a socket there, and killed when the process
// that started it exits.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const readyMsMax = 20_000;
const stopMsMax = 10_000;

export class Server {
  readonly #child: ChildProcess;
  readonly #kill = () => this.#child.kill('SIGKILL');

  /** Starts the program. Its output goes to `server.log` in the directory. */
  constructor(program: string, args: readonly string[], directory: string, options: SpawnOptions = {}) {
    const log = openSync(join(directory, 'server.log'), 'w');
    this.#child = spawn(program, args, { ...options, stdio: ['ignore', log, log] });
    this.#child.on('error', () => {});
    process.once('exit', this.#kill);
  }

  /** Calls `ask` until it succeeds. Throws if the server has ended, or if `ask` has not succeeded in time. */
  async ready(ask: () => Promise<unknown>): Promise<void> {
    const endMs = performance.now() + readyMsMax;
    for (;;) {
      const error = await ask().then(
        () => null,
        (reason: unknown) => reason,
      );
      if (error === null) return;
      const hasEnded = this.#child.pid === undefined || this.#child.exitCode !== null;
      if (hasEnded || performance.now() > endMs) throw new Error('the server does not answer', { cause: error });
      await pause(20);
    }
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    process.off('exit', this.#kill);
    if (this.#child.exitCode !== null) return;
    const late = setTimeout(this.#kill, stopMsMax);
    this.#child.kill(signal);
    await once(this.#child, 'exit');
    clearTimeout(late);
  }
}
