// One attempt of a process plugin: a process in a group of its own, request on stdin, response on stdout.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { killGroup, type Marks } from './marks.ts';
import type { Mask } from './mask.ts';
import type { Request } from './plugin-api.ts';
import type { HostedPlugin } from './port.ts';
import { describe, type Settled, settleAnswer, settleFailure, timeOutReason } from './response.ts';
import { Tail } from './tail.ts';

export const stdoutBytesMax = 10 * 2 ** 20;
/** From SIGTERM at the deadline to SIGKILL. */
export const killDelayMs = 5_000;
/** Output may come so long after the process is gone: of what it left in the pipe, or of a child that holds it. */
const drainMs = 100;
/** The exit status of a failure that another attempt would not mend. */
const permanentStatus = 78;
const timerMsMax = 2 ** 31 - 1;

type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export class Attempt {
  readonly ended: Promise<Settled>;
  readonly #plugin: HostedPlugin;
  readonly #deadlineMs: number;
  readonly #marks: Marks;
  readonly #child: ChildProcess;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  readonly #stderr: Tail;
  readonly #mask: Mask | null;
  #timedOut = false;
  /** Why it was killed at once. */
  #refusal: string | null = null;
  #end!: (settled: Settled) => void;

  constructor(plugin: HostedPlugin, request: Request, deadlineMs: number, marks: Marks, mask: Mask | null) {
    this.#mask = mask;
    this.#stderr = new Tail(mask);
    this.#plugin = plugin;
    this.#deadlineMs = deadlineMs;
    this.#marks = marks;
    this.ended = new Promise(resolve => {
      this.#end = resolve;
    });
    // The host's own environment is what plugins may see.
    const child = spawn(join(plugin.directory, plugin.entrypoint), [], {
      cwd: plugin.directory,
      detached: true,
      stdio: 'pipe',
    });
    this.#child = child;
    child.on('error', error => this.#startFailed(error as NodeJS.ErrnoException));
    if (child.pid === undefined) return;
    child.on('exit', (code, signal) => this.#drain({ code, signal }));
    try {
      marks.put(child.pid);
    } catch (error) {
      // Unmarked it could outlive a crash and meet its own second attempt.
      this.#refusal = `cannot start ${plugin.entrypoint}: its mark cannot be written: ${describe(error)}`;
      this.kill();
    }
    this.#after(deadlineMs, () => this.#expire());
    child.stdout.on('data', chunk => this.#takeStdout(chunk));
    child.stderr.on('data', chunk => this.#stderr.push(chunk));
    // A plugin need not read its request.
    child.stdin.on('error', () => {});
    child.stdin.end(`${JSON.stringify(request)}\n`);
  }

  kill(): void {
    if (this.#child.pid !== undefined) killGroup(this.#child.pid);
  }

  #expire(): void {
    this.#timedOut = true;
    killGroup(this.#child.pid!, 'SIGTERM');
    this.#after(killDelayMs, () => this.kill());
  }

  #takeStdout(chunk: Buffer): void {
    this.#stdoutBytes += chunk.length;
    if (this.#stdoutBytes <= stdoutBytesMax) this.#stdout.push(chunk);
    else this.kill();
  }

  /** The process is gone; `close` would wait for whoever else holds its output. */
  #drain(exit: Exit): void {
    this.#clearTimers();
    const { stdout, stderr } = this.#child;
    let open = 2;
    let done = false;
    const finish = () => {
      if (done) return;
      done = true;
      this.#close();
      stdout!.destroy();
      stderr!.destroy();
      this.#end(this.#settle(exit));
    };
    for (const stream of [stdout!, stderr!]) {
      if (stream.readableEnded || stream.destroyed) open--;
      else stream.once('close', () => --open === 0 && finish());
    }
    if (open === 0) finish();
    else this.#after(drainMs, finish);
  }

  #close(): void {
    this.#clearTimers();
    this.kill();
    this.#marks.remove(this.#child.pid!);
  }

  #settle({ code, signal }: Exit): Settled {
    const aside = { stderr: this.#stderr.text() };
    if (this.#refusal !== null) return settleFailure(this.#refusal, false);
    if (this.#timedOut) return settleFailure(timeOutReason(this.#deadlineMs), false, aside, 'timed_out', this.#mask);
    if (this.#stdoutBytes > stdoutBytesMax) {
      return settleFailure(`stdout has more than ${stdoutBytesMax} bytes`, false, aside, 'error', this.#mask);
    }
    const end = signal === null ? `exit status ${code}` : `killed by ${signal}`;
    const text = Buffer.concat(this.#stdout).toString().trim();
    const permanent = code === permanentStatus;
    if (text === '') return settleFailure(`no response on stdout (${end})`, permanent, aside, 'error', this.#mask);
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch (error) {
      // What is wrong with it is told with a piece of it, which may be a piece of a secret.
      const what = this.#mask === null ? `: ${describe(error)}` : '';
      return settleFailure(`the response is not JSON (${end})${what}`, permanent, aside, 'error', this.#mask);
    }
    const settled = settleAnswer(answer, true, aside, this.#mask);
    return permanent && settled.verdict !== 'ok' ? { ...settled, permanent } : settled;
  }

  #startFailed(error: NodeJS.ErrnoException): void {
    if (this.#child.pid !== undefined) return;
    const { directory, entrypoint } = this.#plugin;
    const reasons: { [code: string]: string } = {
      ENOENT: existsSync(join(directory, entrypoint))
        ? 'the interpreter in its first line, or its directory, does not exist'
        : 'no such file',
      EACCES: 'it is not executable',
    };
    this.#end(settleFailure(`cannot start ${entrypoint}: ${reasons[error.code ?? ''] ?? error.message}`, false));
  }

  #clearTimers(): void {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
  }

  #after(ms: number, run: () => void): void {
    this.#timers.push(setTimeout(run, Math.min(ms, timerMsMax)));
  }
}
