// Waits for a job until the job has settled, the time is up, the caller disconnects, or the service stops.
import type { RefusedWork, SubmitReply } from '../../actors/job/protocol.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { OnJobEnd } from '../../service/job-waiters.ts';
import type { HttpCall } from '../route.ts';

/** How a wait ended. `crowded`: the wait did not begin, because too many callers wait already. */
export type WaitEnd = Parameters<OnJobEnd>[0] | 'timed_out' | 'gone';
export type WaitResult = { readonly kind: 'waited'; readonly id: JobId; readonly how: WaitEnd };
export type WaitingCall = Pick<HttpCall, 'engine' | 'onGone'>;

/** Submits a job and waits for its end, for at most `ms`. */
export async function submitAndWait(
  call: WaitingCall,
  ms: number,
  submit: (onJobEnd: OnJobEnd) => Promise<SubmitReply>,
): Promise<WaitResult | RefusedWork> {
  const wait = new Waiting(call, ms);
  const reply = await submit(wait.end).catch(error => {
    wait.end('gone');
    throw error;
  });
  if (reply.kind === 'refused') {
    wait.end('gone');
    return reply;
  }
  return { kind: 'waited', id: reply.id, how: await wait.over(reply.id) };
}

/** Waits for the end of a job that is on disk, for at most `ms`. */
export function waitFor(call: WaitingCall, ms: number, id: JobId): Promise<WaitEnd> {
  const wait = new Waiting(call, ms);
  call.engine.watch(id, wait.end);
  return wait.over(id);
}

/** A wait for the end of a job. It ends when `end` is called, when `ms` have passed, or when the caller disconnects. */
class Waiting {
  readonly #call: WaitingCall;
  readonly #ended: Promise<WaitEnd>;
  readonly end: (how: WaitEnd) => void;

  constructor(call: WaitingCall, ms: number) {
    this.#call = call;
    let resolve!: (how: WaitEnd) => void;
    this.#ended = new Promise<WaitEnd>(each => {
      resolve = each;
    });
    const timer = setTimeout(() => resolve('timed_out'), ms);
    this.end = how => {
      clearTimeout(timer);
      resolve(how);
    };
    call.onGone(() => this.end('gone'));
  }

  async over(id: JobId): Promise<WaitEnd> {
    const how = await this.#ended;
    if (how === 'timed_out' || how === 'gone') this.#call.engine.unwatch(id, this.end);
    return how;
  }
}
