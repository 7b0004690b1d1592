// A graceful stop of the service: hosts get some time, then they are ended, and the attempts that they still ran are not charged.
import type { ReplyTo } from '../../../runtime/turn.ts';
import type { Callers } from './callers.ts';
import { type Hosts, nameOf } from './hosts.ts';
import type { Ledger } from './ledger.ts';

export class Stopping {
  /** How far the stop is: requested, hosts have ended, or answered. */
  state: 'no' | 'asked' | 'hosts ended' | 'answered' = 'no';
  #stopper: ReplyTo | null = null;

  begin(ledger: Ledger, callers: Callers): void {
    if (this.state !== 'no') return;
    this.state = 'asked';
    this.#stopper = callers.stop();
    ledger.stop(this.#stopper);
  }

  /** Ends the hosts after their time. Jobs that must not run twice may be charged, because they may have begun. */
  endHosts(ledger: Ledger, hosts: Hosts): void {
    if (!ledger.isStopping) return;
    this.state = 'hosts ended';
    for (const { frame, tasks } of hosts.held)
      if (frame.instance === 'careful') for (const task of tasks) hosts.chargeable.add(nameOf(task));
    hosts.end();
    ledger.deliver('job', { kind: 'hosts_stopped', replyTo: this.#stopper });
  }
}
