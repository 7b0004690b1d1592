// The process group that a child leads. It is signalled only while no other process can have its number.
import type { ChildProcess } from 'node:child_process';
import { isAlive } from './identity.ts';
import { killGroup } from './pid-files.ts';

export class ProcessGroup {
  readonly #leader: ChildProcess;
  #isOver = false;

  constructor(leader: ChildProcess) {
    this.#leader = leader;
  }

  /** Does nothing once the group has ended. */
  signal(signal: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#leader;
    if (pid === undefined || this.#isOver) return;
    const isLed = exitCode === null && signalCode === null;
    // No new process gets the leader's number while a member of the group lives. So if one has it now, the group has ended.
    this.#isOver = !isLed && isAlive({ pid, startTicks: null, bootId: null, namespace: null });
    if (!this.#isOver) killGroup(pid, signal);
  }

  /** Kills what the leader left behind. From now on the number may belong to another process. */
  end(): void {
    this.signal('SIGKILL');
    this.#isOver = true;
  }
}
