// Frames of persistent plugins whose tasks are under way together: a process for each runner that the frames of a command name.

import { Breaker, openReason, processLimits } from '../../breaker.ts';
import { timerMsMax } from '../../clock.ts';
import type { ProgramMarks } from '../../processes/program-marks.ts';
import { Frame } from '../wire/frame.ts';
import type { HostedPlugin } from '../wire/port.ts';
import { describe, settleFailure } from '../wire/response.ts';
import { type PayloadCheck, PayloadChecks } from '../wire/schema.ts';
import { Programs } from './program.ts';
import type { Reports } from './reports.ts';
import { RunnerFlight } from './runner-frame.ts';
import { RunnerProcess } from './runner-process.ts';

type Fleet = {
  readonly breaker: Breaker;
  /** Those that take frames, or are being started, by command and runner. */
  readonly taking: Map<string, Promise<RunnerProcess | string>>;
};

export class ConcurrentProcesses {
  readonly #programs: Programs;
  readonly #reports: Reports;
  readonly #checks = new PayloadChecks();
  readonly #fleets = new Map<HostedPlugin, Fleet>();
  /** The plugins whose processes may stay. */
  #current: readonly HostedPlugin[] = [];
  /** Frames that wait for their process. */
  #starting = 0;

  /** `home`: for what sandboxed plugins write. */
  constructor(marks: ProgramMarks, home: string, reports: Reports) {
    this.#programs = new Programs(marks, home);
    this.#reports = reports;
  }

  /** Whether nothing runs, nor stays for more. */
  get idle(): boolean {
    return this.#starting === 0 && this.#programs.count === 0;
  }

  submit(bytes: Buffer, plugin: HostedPlugin): void {
    // A view of what came over the pipe: it is copied.
    void this.#ask(new Frame(Buffer.from(bytes)), plugin);
  }

  /** Lets the processes go. */
  returnUnstarted(): void {
    this.retire([]);
  }

  /** Ends processes of plugins other than these, when all that they were asked is over. */
  retire(current: readonly HostedPlugin[]): void {
    this.#current = current;
    for (const [plugin, { taking }] of this.#fleets) {
      if (current.includes(plugin)) continue;
      this.#fleets.delete(plugin);
      for (const process of taking.values()) void process.then(one => typeof one === 'string' || one.retire());
    }
  }

  /** Kills whatever runs. */
  kill(): void {
    this.#programs.killAll();
  }

  async #ask(frame: Frame, plugin: HostedPlugin): Promise<void> {
    this.#starting++;
    const schema = plugin.commands[frame.command]?.inputSchema;
    const check: PayloadCheck | null = schema ? await this.#checks.of(schema) : null;
    const process = await this.#processOf(plugin, `${frame.command} ${frame.head.runner}`);
    this.#starting--;
    if (typeof process !== 'string') {
      process.ask(frame, check);
      if (!this.#current.includes(plugin)) process.retire();
      return;
    }
    const flight = new RunnerFlight(frame.head);
    for (let task = 0; task < frame.head.count; task++)
      flight.charge(task, settleFailure(process, false), this.#reports);
  }

  #processOf(plugin: HostedPlugin, key: string): Promise<RunnerProcess | string> {
    let fleet = this.#fleets.get(plugin);
    if (fleet === undefined) {
      fleet = { breaker: new Breaker(processLimits), taking: new Map() };
      this.#fleets.set(plugin, fleet);
    }
    const known = fleet.taking.get(key);
    if (known !== undefined) return known;
    const release = () => {
      if (fleet.taking.get(key) === starting) fleet.taking.delete(key);
    };
    const starting = this.#start(plugin, fleet.breaker, release);
    fleet.taking.set(key, starting);
    void starting.then(one => typeof one === 'string' && release());
    return starting;
  }

  /** The process, or why there is none. */
  async #start(plugin: HostedPlugin, breaker: Breaker, release: () => void): Promise<RunnerProcess | string> {
    if (breaker.isOpen(performance.now())) return openReason;
    const { ageMs } = plugin.persistent!;
    try {
      const program = await this.#programs.start(plugin);
      const process = new RunnerProcess(plugin, program, this.#reports, () => this.#programs.gone(), {
        onSpent: release,
        onGone: crash => {
          if (age !== null) clearTimeout(age);
          if (crash !== null) this.#crashed(plugin, breaker, crash);
        },
      });
      const age = ageMs === null ? null : setTimeout(() => process.retire(), Math.min(ageMs, timerMsMax));
      return process;
    } catch (error) {
      return `cannot start ${plugin.entrypoint}: ${describe(error)}`;
    }
  }

  #crashed(plugin: HostedPlugin, breaker: Breaker, reason: string): void {
    const fields = { plugin: plugin.instance };
    this.#reports.log('warn', 'a plugin process crashed', { ...fields, reason });
    if (breaker.crashed(performance.now())) this.#reports.log('error', openReason, fields);
  }
}
