// Runs the frames of process plugins. The host has a limited number of places for running frames; other frames wait in order.

import type { ProgramPids } from '../../processes/program-pids.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import { PayloadChecks } from '../wire/schema.ts';
import { Conversation } from './conversation.ts';
import { FrameRun } from './frame-run.ts';
import type { HostSender } from './host-sender.ts';
import { ProcessPool } from './process-pool.ts';
import { Programs } from './program.ts';

export class ProcessFrames {
  readonly #places: number;
  readonly #programs: Programs;
  readonly #sender: HostSender;
  readonly #runs = new Set<FrameRun>();
  readonly #pools = new Map<HostedPlugin, ProcessPool>();
  /** The plugins of the current configuration; empty while the host stops. Persistent processes of other plugins are ended. */
  #current: readonly HostedPlugin[] = [];
  readonly #checks = new PayloadChecks();
  #running = 0;

  constructor(places: number, marks: ProgramPids, home: string, sender: HostSender) {
    this.#places = places;
    this.#programs = new Programs(marks, home);
    this.#sender = sender;
  }

  /** Whether no frame is running or waiting, and no process runs. */
  get idle(): boolean {
    return this.#runs.size === 0 && this.#programs.count === 0;
  }

  submit(bytes: Buffer, plugin: HostedPlugin): void {
    const run = new FrameRun(bytes, plugin, this.#sender);
    this.#runs.add(run);
    this.#launch();
    if (!run.hasBegun) run.wait();
  }

  /**
   * Gives back to the ledger the tasks that have not begun. Ends the idle persistent processes now, and each other persistent
   * process when it becomes idle.
   */
  returnUnstarted(): void {
    this.retire([]);
    for (const run of this.#runs) {
      run.takeBack('interrupted');
      if (!run.hasBegun) this.#runs.delete(run);
    }
  }

  /**
   * Gives back to the ledger the frame's tasks that have not begun. If a process is serving the cancelled task, the request of that task is
   * cancelled.
   */
  cancel(frameId: number, task: number, reason: string): void {
    for (const run of this.#runs) {
      if (run.frame.head.frameId !== frameId) continue;
      run.takeBack('interrupted');
      if (run.hasBegun) run.conversation?.cancel(task, reason);
      else this.#runs.delete(run);
      return;
    }
  }

  /** `current`: the plugins of the current configuration. The persistent processes of other plugins are ended when they are idle. */
  retire(current: readonly HostedPlugin[]): void {
    this.#current = current;
    for (const [plugin, pool] of this.#pools) {
      if (current.includes(plugin)) continue;
      this.#pools.delete(plugin);
      pool.retire();
    }
  }

  kill(): void {
    this.#programs.killAll();
  }

  #launch(): void {
    for (const run of this.#runs) {
      if (this.#running >= this.#places) return;
      if (!run.hasBegun) void this.#run(run);
    }
  }

  /**
   * Serves the frame with one process after another. A persistent process runs as many tasks as its limit allows; any other process runs
   * one task.
   */
  async #run(run: FrameRun): Promise<void> {
    this.#running++;
    await run.begin(this.#checks);
    const pool = this.#poolOf(run.plugin);
    while (run.hasNext()) {
      const conversation = new Conversation(run, this.#programs);
      run.conversation = conversation;
      const process = await pool.take();
      if (typeof process === 'string') {
        // While the process was being started, the task may have been cancelled and returned.
        if (run.hasNext()) conversation.refuse(process);
      } else {
        await conversation.hold(process, pool.room(process));
        pool.giveBack(process);
      }
    }
    run.close();
    this.#runs.delete(run);
    this.#running--;
    this.#launch();
  }

  #poolOf(plugin: HostedPlugin): ProcessPool {
    const known = this.#pools.get(plugin);
    if (known !== undefined) return known;
    const pool = new ProcessPool(plugin, this.#programs, this.#sender);
    if (this.#current.includes(plugin)) this.#pools.set(plugin, pool);
    else pool.retire();
    return pool;
  }
}
