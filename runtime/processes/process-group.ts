// The process group that a child process leads. The group gets signals only as long as no other group can have the same number.
import type { ChildProcess } from 'node:child_process';
import { isAlive } from './identity.ts';
import { killGroup } from './pid-files.ts';

export class ProcessGroup {
  readonly #leader: ChildProcess;
  #isOver = false;

  constructor(leader: ChildProcess) {
    this.#leader = leader;
  }

  /** Sends the signal to the group, unless the group has ended. */
  signal(signal: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#leader;
    if (pid === undefined || this.#isOver) return;
    const isLed = exitCode === null && signalCode === null;
    // While a member of the group lives, no new process gets the leader's pid. So if the leader has ended and a process has this pid, the
    // group has ended.
    this.#isOver = !isLed && isAlive({ pid, startTicks: null, bootId: null, namespace: null });
    if (!this.#isOver) killGroup(pid, signal);
  }

  /** Must be called when the leader has ended. Kills the remaining processes of the group; from then on `signal` has no effect. */
  end(): void {
    this.signal('SIGKILL');
    this.#isOver = true;
  }
}
