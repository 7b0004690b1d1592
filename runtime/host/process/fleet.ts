// The persistent processes of one plugin: started when they are needed, recycled, and after too many crashes not started for a while.

import { Breaker, openReason, processLimits } from '../../breaker.ts';
import { timerMsMax } from '../../clock.ts';
import type { HostedPlugin, PersistentMode } from '../wire/port.ts';
import { describe } from '../wire/response.ts';
import { PersistentProcess } from './persistent.ts';
import type { Programs } from './program.ts';
import type { Reports } from './reports.ts';

export class Fleet {
  readonly #plugin: HostedPlugin;
  readonly #mode: PersistentMode;
  readonly #programs: Programs;
  readonly #reports: Reports;
  readonly #breaker = new Breaker(processLimits);
  #idle: PersistentProcess[] = [];
  /** May not be asked again: it is too old. */
  readonly #old = new WeakSet<PersistentProcess>();
  #retired = false;

  constructor(plugin: HostedPlugin, programs: Programs, reports: Reports) {
    this.#plugin = plugin;
    this.#mode = plugin.persistent!;
    this.#programs = programs;
    this.#reports = reports;
  }

  /** One that is idle, or a new one; or why there is none. */
  async take(): Promise<PersistentProcess | string> {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (!idle.isOver) return idle;
    if (this.#breaker.isOpen(performance.now())) return openReason;
    try {
      return this.#watch(new PersistentProcess(await this.#programs.start(this.#plugin)));
    } catch (error) {
      return `cannot start ${this.#plugin.entrypoint}: ${describe(error)}`;
    }
  }

  /** Its frame is over; it may be gone. */
  giveBack(process: PersistentProcess): void {
    if (process.isOver) return;
    if (this.#retired || this.#old.has(process) || this.room(process) === 0) process.end();
    else this.#idle.push(process);
  }

  /** How many more jobs it may be asked. */
  room(process: PersistentProcess): number {
    return (this.#mode.jobsMax ?? Number.POSITIVE_INFINITY) - process.jobs;
  }

  /** Ends all that are idle, and the others when they come back. */
  retire(): void {
    this.#retired = true;
    for (const process of this.#idle.splice(0)) process.end();
  }

  #watch(process: PersistentProcess): PersistentProcess {
    const { ageMs } = this.#mode;
    const age = ageMs === null ? null : setTimeout(() => this.#outdate(process), Math.min(ageMs, timerMsMax));
    void process.ended.then(crash => {
      if (age !== null) clearTimeout(age);
      this.#idle = this.#idle.filter(other => other !== process);
      if (crash === null) return;
      const fields = { plugin: this.#plugin.instance };
      this.#reports.log('warn', 'a plugin process crashed', { ...fields, reason: crash.reason });
      if (this.#breaker.crashed(performance.now())) this.#reports.log('error', openReason, fields);
    });
    return process;
  }

  #outdate(process: PersistentProcess): void {
    this.#old.add(process);
    const at = this.#idle.indexOf(process);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    process.end();
  }
}
