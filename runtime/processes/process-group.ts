// The process group that a child leads. It is signalled only while its number can be nobody else's.
import type { ChildProcess } from 'node:child_process';
import { isAlive } from './identity.ts';
import { killGroup } from './pid-files.ts';

export class ProcessGroup {
  readonly #leader: ChildProcess;
  #isOver = false;

  constructor(leader: ChildProcess) {
    this.#leader = leader;
  }

  /** Does nothing when it is over. */
  signal(signal: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#leader;
    if (pid === undefined || this.#isOver) return;
    const isLed = exitCode === null && signalCode === null;
    // While others of the group live, no new process gets the leader's number: whoever has it now came when all were gone.
    this.#isOver = !isLed && isAlive({ pid, startTicks: null, bootId: null, namespace: null });
    if (!this.#isOver) killGroup(pid, signal);
  }

  /** Kills what its leader has left. From now on the number may be given to others. */
  end(): void {
    this.signal('SIGKILL');
    this.#isOver = true;
  }
}
