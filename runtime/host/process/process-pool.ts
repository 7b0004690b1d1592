// Starts the processes of one plugin. Idle persistent processes are kept for the next frames, until they are too old or have run their
// maximum number of jobs. After too many crashes of persistent processes, no process is started for a while (crash-hold.ts).

import { timerMsMax } from '../../clock.ts';
import { CrashHold, holdReason, processLimits } from '../../crash-hold.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import { describe } from '../wire/response.ts';
import type { HostSender } from './host-sender.ts';
import { PluginProcess, type ProcessEnd } from './plugin-process.ts';
import type { Program, Programs } from './program.ts';

export class ProcessStarter {
  readonly #plugin: HostedPlugin;
  readonly #programs: Programs;
  readonly #sender: HostSender;
  readonly #crashHold = new CrashHold(processLimits);

  constructor(plugin: HostedPlugin, programs: Programs, sender: HostSender) {
    this.#plugin = plugin;
    this.#programs = programs;
    this.#sender = sender;
  }

  /**
   * Starts the plugin's program and passes it to `make`. Returns the process that `make` returns, or a text that says why the program was
   * not started. If the system itself fails to start the program, the returned process ends at once. `retire` is called if a persistent
   * process becomes too old.
   */
  async start<P extends { readonly ended: Promise<ProcessEnd> }>(
    make: (program: Program) => P,
    retire: (process: P) => void,
  ): Promise<P | string> {
    const { entrypoint, persistent } = this.#plugin;
    if (this.#crashHold.holds(performance.now())) return holdReason;
    try {
      const process = make(await this.#programs.start(this.#plugin));
      if (persistent === undefined) return process;
      const { ageMs } = persistent;
      const age = ageMs === null ? undefined : setTimeout(retire, Math.min(ageMs, timerMsMax), process);
      void process.ended.then(({ isCrash, reason }) => {
        clearTimeout(age);
        if (isCrash) this.#crashed(reason);
      });
      return process;
    } catch (error) {
      return `cannot start ${entrypoint}: ${describe(error)}`;
    }
  }

  #crashed(reason: string): void {
    const fields = { plugin: this.#plugin.instance };
    this.#sender.log('warn', 'a plugin process crashed', { ...fields, reason });
    if (this.#crashHold.crashed(performance.now())) this.#sender.log('error', holdReason, fields);
  }
}

export class ProcessPool {
  readonly #plugin: HostedPlugin;
  readonly #starter: ProcessStarter;
  #idle: PluginProcess<number>[] = [];
  /** The processes that are too old for another frame. */
  readonly #old = new WeakSet<PluginProcess<number>>();
  #retired = false;

  constructor(plugin: HostedPlugin, programs: Programs, sender: HostSender) {
    this.#plugin = plugin;
    this.#starter = new ProcessStarter(plugin, programs, sender);
  }

  /** Returns an idle process or a new one, or the reason why no process can be started. */
  async take(): Promise<PluginProcess<number> | string> {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (!idle.isOver) return idle;
    return this.#starter.start(
      program => new PluginProcess(this.#plugin, program),
      process => this.#outdate(process),
    );
  }

  /** Must be called when the caller has the answers to all its requests, or the process has ended. Keeps or ends the process. */
  giveBack(process: PluginProcess<number>): void {
    if (process.isOver) return;
    // The only task of the process was cancelled while the process was being started.
    if (this.#plugin.persistent === undefined) process.terminate();
    else if (this.#retired || this.#old.has(process) || this.room(process) <= 0) process.release();
    else this.#idle.push(process);
  }

  /** The number of further requests that the process may get. */
  room(process: PluginProcess<number>): number {
    const { persistent } = this.#plugin;
    return (persistent === undefined ? 1 : (persistent.jobsMax ?? Number.POSITIVE_INFINITY)) - process.requests;
  }

  /** Ends the idle processes now, and every other process when it is given back. */
  retire(): void {
    this.#retired = true;
    for (const process of this.#idle.splice(0)) process.release();
  }

  #outdate(process: PluginProcess<number>): void {
    this.#old.add(process);
    const at = this.#idle.indexOf(process);
    if (at >= 0) this.#idle.splice(at, 1)[0]!.release();
  }
}
