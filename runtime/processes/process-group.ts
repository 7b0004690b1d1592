// The process group that a child process leads. The group gets signals only as long as no other group can have the same number.
import type { ChildProcess } from 'node:child_process';
import { isAlive, livingStat, processNumbers, sendSignal } from './identity.ts';

export class ProcessGroup {
  readonly #leader: ChildProcess;
  #isOver = false;

  constructor(leader: ChildProcess) {
    this.#leader = leader;
  }

  /** Sends the signal to the group, unless the group has ended. */
  signal(signal: NodeJS.Signals): void {
    const pid = this.#number();
    if (pid !== null) sendSignal(-pid, signal);
  }

  /** Sends the signal to the processes of the group except its leader, or to the whole group if there are none or /proc does not show them. */
  signalFollowers(signal: NodeJS.Signals): void {
    const leader = this.#number();
    if (leader === null) return;
    const followers = processNumbers().filter(pid => pid !== leader && livingStat(pid)?.[2] === String(leader));
    for (const pid of followers.length === 0 ? [-leader] : followers) sendSignal(pid, signal);
  }

  /** The number of the group, which is the leader's pid; null if the group has ended. */
  #number(): number | null {
    const { pid, exitCode, signalCode } = this.#leader;
    if (pid === undefined || this.#isOver) return null;
    const isLed = exitCode === null && signalCode === null;
    // While a member of the group lives, no new process gets the leader's pid. So if the leader has ended and a process has this pid, the
    // group has ended.
    this.#isOver = !isLed && isAlive({ pid, startTicks: null, bootId: null, namespace: null });
    return this.#isOver ? null : pid;
  }

  /** Must be called when the leader has ended. Kills the remaining processes of the group; from then on `signal` has no effect. */
  end(): void {
    this.signal('SIGKILL');
    this.#isOver = true;
  }
}
