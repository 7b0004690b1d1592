// Runs the frames of persistent plugins whose tasks run concurrently. Each command has processes of its own: one for each runner
// number that occurs in frames of the command.

import type { ProgramPids } from '../../processes/program-pids.ts';
import { FrameReader } from '../wire/frame.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import { resultOfFailure } from '../wire/response.ts';
import { PayloadChecks } from '../wire/schema.ts';
import type { HostSender } from './host-sender.ts';
import { ProcessStarter } from './process-pool.ts';
import { type Program, Programs } from './program.ts';
import { RunnerFrame } from './runner-frame.ts';
import { RunnerProcess } from './runner-process.ts';

type RunnerPool = {
  readonly starter: ProcessStarter;
  /**
   * The processes that take frames or are being started, by command and runner. If a process cannot be started, its promise resolves with
   * a text that says why.
   */
  readonly taking: Map<string, Promise<RunnerProcess | string>>;
};

export class ConcurrentProcesses {
  readonly #programs: Programs;
  readonly #sender: HostSender;
  readonly #checks = new PayloadChecks();
  readonly #pools = new Map<HostedPlugin, RunnerPool>();
  /** The plugins of the current configuration; empty while the host stops. Processes of other plugins end when they have no open request. */
  #current: readonly HostedPlugin[] = [];
  /** The frames that wait until their schema is compiled and their process has started, by frame id. */
  readonly #preparing = new Map<number, RunnerFrame>();
  /** The processes that run or have unreported tasks, including those that take no more frames. */
  readonly #processes = new Set<RunnerProcess>();

  constructor(marks: ProgramPids, home: string, sender: HostSender) {
    this.#programs = new Programs(marks, home);
    this.#sender = sender;
  }

  /** Whether no process runs, no frame waits for a process to start, and all tasks of ended processes are reported. */
  get idle(): boolean {
    return this.#preparing.size === 0 && this.#processes.size === 0 && this.#programs.count === 0;
  }

  submit(bytes: Buffer, plugin: HostedPlugin): void {
    // Copies the frame, whose bytes may be a view of a larger chunk that arrived over the pipe.
    void this.#ask(new FrameReader(Buffer.from(bytes)), plugin);
  }

  /**
   * Gives the task back to the ledger if it still waits for its process. Otherwise the process cancels it (RunnerProcess.cancel).
   */
  cancel(frameId: number, task: number, reason: string): void {
    const run = this.#preparing.get(frameId);
    if (run === undefined) for (const process of this.#processes) process.cancel(frameId, task, reason);
    else if (run.isOpen(task)) {
      run.end(task);
      this.#sender.returned(frameId, task, task + 1, 'interrupted');
    }
  }

  /** Gives back to the ledger the tasks that no process has got yet. Each process ends once it has no open request. */
  returnUnstarted(): void {
    for (const run of this.#preparing.values()) run.giveBack(this.#sender, 'interrupted');
    this.retire([]);
  }

  /** `current`: the plugins of the current configuration. Processes of other plugins end once they have no open request. */
  retire(current: readonly HostedPlugin[]): void {
    this.#current = current;
    for (const [plugin, { taking }] of this.#pools) {
      if (current.includes(plugin)) continue;
      this.#pools.delete(plugin);
      for (const process of taking.values()) void process.then(one => typeof one === 'string' || one.retire());
    }
  }

  kill(): void {
    this.#programs.killAll();
  }

  async #ask(frame: FrameReader, plugin: HostedPlugin): Promise<void> {
    const run = new RunnerFrame(frame.head);
    this.#preparing.set(frame.head.frameId, run);
    const schema = plugin.commands[frame.command]?.inputSchema;
    const check = schema ? await this.#checks.of(schema) : null;
    const process = await this.#processOf(plugin, `${frame.command} ${frame.head.runner}`);
    this.#preparing.delete(frame.head.frameId);
    if (typeof process !== 'string') {
      process.ask(run, frame, check);
      if (!this.#current.includes(plugin)) process.retire();
      return;
    }
    for (let task = 0; task < frame.head.count; task++)
      if (run.isOpen(task)) run.charge(task, resultOfFailure(process, false), this.#sender);
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
    const make = (program: Program) => {
      const reported = () => void this.#processes.delete(process);
      const process = new RunnerProcess(plugin, program, this.#sender, leftovers, release, reported);
      this.#processes.add(process);
      return process;
    };
    const starting = starter.start(make, process => process.retire());
    taking.set(key, starting);
    void starting.then(one => typeof one === 'string' && release());
    return starting;
  }
}
