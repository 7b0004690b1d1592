// The running programs of process plugins. Each program leads a process group, and its pid is written to a file, through which the program
// is found if the host or the service crashes.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { ProcessGroup } from '../../processes/process-group.ts';
import type { ProgramPids } from '../../processes/program-pids.ts';
import { commandLine, type Sandbox, sandboxFault } from '../../processes/sandbox.ts';
import { originVariable, StrayProcesses } from '../../processes/stray-processes.ts';
import { verifyEntrypoint } from '../wire/digests.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import { describe } from '../wire/response.ts';

/** The default time from SIGTERM, or from closing stdin, to SIGKILL. */
export const killDelayMs = 5_000;
/**
 * How long, at most, output is read after a program has exited. The pipe may still contain output, but a child of the program may keep the
 * pipe open.
 */
const drainMs = 100;

/** `refused`: the program could not be started, or was killed at once; `reason` says why. */
export type ProgramEnd =
  | { readonly kind: 'exit'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  | { readonly kind: 'refused'; readonly reason: string };

export class Programs {
  readonly #marks: ProgramPids;
  readonly #escapees: StrayProcesses;
  readonly #living = new Set<Program>();
  // A copy, because reading `process.env` for each program would noticeably slow its start.
  readonly #environment = { ...process.env };

  /** The sandboxes that were found to work, as JSON. */
  readonly #possible = new Set<string>();
  readonly #home: string;

  /** `home`: the directory for files that sandboxed plugins write. */
  constructor(marks: ProgramPids, home: string) {
    this.#marks = marks;
    this.#home = home;
    this.#escapees = new StrayProcesses(marks.id);
  }

  /**
   * Rejects if the plugin's entrypoint has changed since it was locked. Also rejects if the plugin's sandbox is unavailable, because a
   * program must never run with a weaker sandbox.
   */
  async start(plugin: HostedPlugin): Promise<Program> {
    await verifyEntrypoint(plugin);
    if (plugin.sandbox !== undefined) await this.#try(plugin.sandbox);
    const command = commandLine(plugin, this.#home);
    const origin = this.#escapees.begin();
    const program = new Program(plugin, command, this.#marks, { ...this.#environment, [originVariable]: origin });
    this.#living.add(program);
    void program.ended.then(() => {
      this.#living.delete(program);
      this.#escapees.end(origin);
    });
    return program;
  }

  async #try(sandbox: Sandbox): Promise<void> {
    const key = JSON.stringify(sandbox);
    if (this.#possible.has(key)) return;
    const fault = await sandboxFault(sandbox);
    if (fault !== null) throw new Error(`its sandbox "${sandbox.kind}" is unavailable: ${fault}`);
    this.#possible.add(key);
  }

  get count(): number {
    return this.#living.size;
  }

  /** Kills the processes that ended programs have left behind. Resolves when none is left, or when the search for them has given up. */
  gone(): Promise<void> {
    return this.#escapees.gone();
  }

  /**
   * Kills all programs and, on Linux, the processes that the programs and this host's threads have started
   * (StrayProcesses.killAll).
   */
  killAll(): void {
    for (const program of this.#living) program.kill();
    this.#escapees.killAll();
  }
}

export class Program {
  /**
   * Resolves when the program has ended, its output has been read (for at most `drainMs` more), and its group has been killed. If the
   * program cannot be started, resolves at once.
   */
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcess;
  readonly #group: ProcessGroup;
  readonly #isInBwrap: boolean;
  #late: NodeJS.Timeout | null = null;

  /** `environment`: the host's own variables, which the service has chosen (client/environment.ts), and the program's origin. */
  constructor(
    plugin: HostedPlugin,
    [file, ...words]: readonly string[],
    marks: ProgramPids,
    environment: NodeJS.ProcessEnv,
  ) {
    this.#child = spawn(file!, words, {
      cwd: plugin.directory,
      detached: true,
      env: environment,
      stdio: 'pipe',
    });
    this.#group = new ProcessGroup(this.#child);
    this.#isInBwrap = plugin.sandbox?.kind === 'bwrap';
    // Writing to a program that has ended fails. The error is ignored, because `ended` says why the program ended.
    this.#child.stdin?.on('error', () => {});
    this.ended = new Promise(end => this.#watch(plugin, marks, end));
  }

  get stdin(): Writable {
    return this.#child.stdin!;
  }

  get stdout(): Readable {
    return this.#child.stdout!;
  }

  get stderr(): Readable {
    return this.#child.stderr!;
  }

  /** Whether the program could be started; if not, `ended` says why. */
  get hasStarted(): boolean {
    return this.#child.pid !== undefined;
  }

  /** Sends SIGTERM to the process group now, and SIGKILL after `delayMs`, unless an earlier call has set the time for SIGKILL. */
  terminate(delayMs = killDelayMs): void {
    // SIGTERM would end bwrap itself, which leads the group, and with it at once everything in the sandbox.
    if (this.#isInBwrap) this.#group.signalFollowers('SIGTERM');
    else this.#group.signal('SIGTERM');
    this.#killLater(delayMs);
  }

  /** Closes stdin now, and sends SIGKILL after `killDelayMs`, unless an earlier call has set the time for SIGKILL. */
  endInput(): void {
    this.#child.stdin?.end();
    this.#killLater();
  }

  kill(): void {
    this.#group.signal('SIGKILL');
  }

  /** Sends SIGKILL after `delayMs`, unless the program has ended by then or an earlier call has set the time. */
  #killLater(delayMs = killDelayMs): void {
    this.#late ??= setTimeout(() => this.kill(), delayMs);
  }

  #watch({ directory, entrypoint }: HostedPlugin, marks: ProgramPids, end: (end: ProgramEnd) => void): void {
    const refuse = (why: string) => end({ kind: 'refused', reason: `cannot start ${entrypoint}: ${why}` });
    const child = this.#child;
    const { pid } = child;
    child.on('error', error => {
      if (pid === undefined) refuse(startFault(error as NodeJS.ErrnoException, join(directory, entrypoint)));
    });
    if (pid === undefined) return;
    let unmarked: string | null = null;
    child.on('exit', (code, signal) => {
      if (this.#late !== null) clearTimeout(this.#late);
      this.#drain(() => {
        this.#group.end();
        marks.remove(pid);
        if (unmarked === null) end({ kind: 'exit', code, signal });
        else refuse(unmarked);
      });
    });
    try {
      marks.put(pid);
    } catch (error) {
      // The program is killed, because without its pid on disk it could survive a crash of the service, and run beside the next attempt of
      // its job.
      unmarked = `its pid file cannot be written: ${describe(error)}`;
      this.kill();
    }
  }

  /** Reads the remaining output, for at most `drainMs`. The child's own `close` event would wait for every process that holds a pipe open. */
  #drain(then: () => void): void {
    const streams = [this.stdout, this.stderr].filter(stream => !stream.readableEnded && !stream.destroyed);
    let open = streams.length;
    if (open === 0) {
      then();
      return;
    }
    const late = setTimeout(() => {
      for (const stream of streams) stream.destroy();
    }, drainMs);
    const closed = () => {
      if (--open > 0) return;
      clearTimeout(late);
      then();
    };
    for (const stream of streams) stream.once('close', closed);
  }
}

function startFault(error: NodeJS.ErrnoException, path: string): string {
  if (error.code === 'EACCES') return 'it is not executable';
  if (error.code !== 'ENOENT') return error.message;
  return existsSync(path) ? 'the interpreter in its first line, or its directory, does not exist' : 'no such file';
}

export function endText({ code, signal }: Extract<ProgramEnd, { kind: 'exit' }>): string {
  return signal === null ? `exit status ${code}` : `killed by ${signal}`;
}
