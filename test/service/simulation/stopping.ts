// A stop of the service in good order: hosts have a while, then they are ended, and nothing is charged to what they still ran.
import type { ReplyTo } from '../../../runtime/turn.ts';
import type { Callers } from './callers.ts';
import { type Hosts, nameOf } from './hosts.ts';
import type { Ledger } from './ledger.ts';

export class Stopping {
  /** It was asked for; its hosts have ended; it was answered. */
  state: 'no' | 'asked' | 'hosts ended' | 'answered' = 'no';
  #stopper: ReplyTo | null = null;

  begin(ledger: Ledger, callers: Callers): void {
    if (this.state !== 'no') return;
    this.state = 'asked';
    this.#stopper = callers.stop();
    ledger.stop(this.#stopper);
  }

  /** The hosts have had their while. What must not run twice may be charged: nobody knows whether it has begun. */
  endHosts(ledger: Ledger, hosts: Hosts): void {
    if (!ledger.isStopping) return;
    this.state = 'hosts ended';
    for (const { frame, tasks } of hosts.held)
      if (frame.instance === 'careful') for (const task of tasks) hosts.chargeable.add(nameOf(task));
    hosts.end();
    ledger.deliver('job', { kind: 'hosts_stopped', replyTo: this.#stopper });
  }
}
