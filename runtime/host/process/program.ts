// The programs of process plugins while they run: each leads a group of its own, and is marked so that it is found after a crash.

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

/** From SIGTERM, or the end of stdin, to SIGKILL. */
export const killDelayMs = 5_000;
/** Output may come so long after the process is gone: of what it left in the pipe, or of a child that holds it. */
const drainMs = 100;

/** `refused`: it never ran, or must not run on, for this reason. */
export type ProgramEnd =
  | { readonly kind: 'exit'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  | { readonly kind: 'refused'; readonly reason: string };

/** All programs of this host. */
export class Programs {
  readonly #marks: ProgramPids;
  readonly #escapees: StrayProcesses;
  readonly #living = new Set<Program>();
  // Taken once: to read it costs as much as a small part of a start.
  readonly #environment = { ...process.env };

  /** What was tried, as JSON, and works. */
  readonly #possible = new Set<string>();
  readonly #home: string;

  /** `home`: for what sandboxed plugins write. */
  constructor(marks: ProgramPids, home: string) {
    this.#marks = marks;
    this.#home = home;
    this.#escapees = new StrayProcesses(marks.id);
  }

  /** Throws where its code has changed since it was locked, or its sandbox cannot be had: it never runs with less. */
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
    if (fault !== null) throw new Error(`its sandbox "${sandbox.kind}" cannot be had here: ${fault}`);
    this.#possible.add(key);
  }

  get count(): number {
    return this.#living.size;
  }

  /** Resolves when nothing runs of what belongs to programs that have ended. */
  gone(): Promise<void> {
    return this.#escapees.gone();
  }

  /** At once, with all that they and this host's threads have started. */
  killAll(): void {
    for (const program of this.#living) program.kill();
    this.#escapees.killAll();
  }
}

export class Program {
  /** Resolves when it is gone with its group, and its output has come. */
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcess;
  readonly #group: ProcessGroup;
  #late: NodeJS.Timeout | null = null;

  /** The host's own environment is what plugins may see. */
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
    // Whoever writes to a program that reads nothing learns it from its end.
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

  /** Whether there is a process; else `ended` says why not. */
  get hasStarted(): boolean {
    return this.#child.pid !== undefined;
  }

  /** SIGTERM to the group, and SIGKILL when that does not help. */
  terminate(): void {
    this.#group.signal('SIGTERM');
    this.#killLater();
  }

  /** Says that nothing more will be asked, and kills it when it stays all the same. */
  endInput(): void {
    this.#child.stdin?.end();
    this.#killLater();
  }

  kill(): void {
    this.#group.signal('SIGKILL');
  }

  #killLater(): void {
    this.#late ??= setTimeout(() => this.kill(), killDelayMs);
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
      // Unmarked it could outlive a crash and meet its own second attempt.
      unmarked = `its mark cannot be written: ${describe(error)}`;
      this.kill();
    }
  }

  /** The process is gone; `close` would wait for whoever else holds its output. */
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

/** For messages. */
export function endText({ code, signal }: Extract<ProgramEnd, { kind: 'exit' }>): string {
  return signal === null ? `exit status ${code}` : `killed by ${signal}`;
}
