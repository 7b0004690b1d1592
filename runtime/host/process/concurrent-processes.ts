// Frames of persistent plugins whose tasks run concurrently, with one process for each runner in the frames of a command.

import type { ProgramPids } from '../../processes/program-pids.ts';
import { FrameReader } from '../wire/frame.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import { resultOfFailure } from '../wire/response.ts';
import { PayloadChecks } from '../wire/schema.ts';
import type { HostSender } from './host-sender.ts';
import { ProcessStarter } from './process-pool.ts';
import { Programs } from './program.ts';
import { RunnerFrame } from './runner-frame.ts';
import { RunnerProcess } from './runner-process.ts';

type RunnerPool = {
  readonly starter: ProcessStarter;
  /** The processes that take frames or are being started, by command and runner. */
  readonly taking: Map<string, Promise<RunnerProcess | string>>;
};

export class ConcurrentProcesses {
  readonly #programs: Programs;
  readonly #sender: HostSender;
  readonly #checks = new PayloadChecks();
  readonly #pools = new Map<HostedPlugin, RunnerPool>();
  /** The plugins whose processes may stay. */
  #current: readonly HostedPlugin[] = [];
  /** How many frames wait for their process to start. */
  #starting = 0;

  /** `home`: for the files that sandboxed plugins write. */
  constructor(marks: ProgramPids, home: string, sender: HostSender) {
    this.#programs = new Programs(marks, home);
    this.#sender = sender;
  }

  /** Whether no process is running or kept. */
  get idle(): boolean {
    return this.#starting === 0 && this.#programs.count === 0;
  }

  submit(bytes: Buffer, plugin: HostedPlugin): void {
    // Copied, because the bytes are a view of what arrived over the pipe.
    void this.#ask(new FrameReader(Buffer.from(bytes)), plugin);
  }

  /** A task whose process is still starting is returned when the process is there. */
  cancel(frameId: number, task: number, reason: string): void {
    for (const { taking } of this.#pools.values())
      for (const process of taking.values())
        void process.then(one => typeof one === 'string' || one.cancel(frameId, task, reason));
  }

  /** Releases the processes. */
  returnUnstarted(): void {
    this.retire([]);
  }

  /** Ends the processes of all other plugins when their requests have been answered. */
  retire(current: readonly HostedPlugin[]): void {
    this.#current = current;
    for (const [plugin, { taking }] of this.#pools) {
      if (current.includes(plugin)) continue;
      this.#pools.delete(plugin);
      for (const process of taking.values()) void process.then(one => typeof one === 'string' || one.retire());
    }
  }

  /** Kills everything that runs. */
  kill(): void {
    this.#programs.killAll();
  }

  async #ask(frame: FrameReader, plugin: HostedPlugin): Promise<void> {
    this.#starting++;
    const schema = plugin.commands[frame.command]?.inputSchema;
    const check = schema ? await this.#checks.of(schema) : null;
    const process = await this.#processOf(plugin, `${frame.command} ${frame.head.runner}`);
    this.#starting--;
    if (typeof process !== 'string') {
      process.ask(frame, check);
      if (!this.#current.includes(plugin)) process.retire();
      return;
    }
    const run = new RunnerFrame(frame.head);
    for (let task = 0; task < frame.head.count; task++) run.charge(task, resultOfFailure(process, false), this.#sender);
  }

  #processOf(plugin: HostedPlugin, key: string): Promise<RunnerProcess | string> {
    let pool = this.#pools.get(plugin);
    if (pool === undefined) {
      pool = { starter: new ProcessStarter(plugin, this.#programs, this.#sender), taking: new Map() };
      this.#pools.set(plugin, pool);
    }
    const { starter, taking } = pool;
    const known = taking.get(key);
    if (known !== undefined) return known;
    const release = () => {
      if (taking.get(key) === starting) taking.delete(key);
    };
    const leftovers = () => this.#programs.gone();
    const starting = starter.start(
      program => new RunnerProcess(plugin, program, this.#sender, leftovers, release),
      process => process.retire(),
    );
    taking.set(key, starting);
    void starting.then(one => typeof one === 'string' && release());
    return starting;
  }
}
