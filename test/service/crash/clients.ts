// Clients of the crash test: they call until the service is gone, and remember each job that was answered with 202.

import { send, sign } from '../../feature/webhooks/sender.ts';
import type { Gateway, Job } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { webhookKey } from './plugins.ts';
import type { Random } from './random.ts';

type Kind = 'direct' | 'program' | 'fan' | 'outer' | 'counting' | 'webhook';

/** A job that was answered with 202, and what must become of it. */
export type Accepted = { readonly id: string; readonly kind: Kind; readonly values: readonly number[] };

/** Notes that the end of a job was read. */
export type OnSeen = (job: Job) => void;

export class Clients {
  readonly accepted: Accepted[] = [];
  readonly #gateway: Gateway;
  readonly #random: Random;
  readonly #onSeen: OnSeen;
  #unread = 0;

  constructor(gateway: Gateway, random: Random, onSeen: OnSeen) {
    this.#gateway = gateway;
    this.#random = random;
    this.#onSeen = onSeen;
  }

  /** Runs `count` clients until the service is gone; resolves when each has noticed. Once `calls` calls are accepted, clients only read jobs. */
  async callUntilGone(count: number, calls: number): Promise<void> {
    const acceptedMax = this.accepted.length + calls;
    await Promise.all(Array.from({ length: count }, () => this.#one(acceptedMax)));
  }

  async acknowledged(more: number): Promise<void> {
    const target = this.accepted.length + more;
    await until(`${more} more are acknowledged`, () => this.accepted.length >= target);
  }

  async #one(acceptedMax: number): Promise<void> {
    for (;;) {
      try {
        if (this.accepted.length < acceptedMax) await this.#submit();
        await this.#look();
      } catch (error) {
        // The service is gone, or an answer broke off with it.
        if (error instanceof TypeError) return;
        throw error;
      }
    }
  }

  async #submit(): Promise<void> {
    const { between } = this.#random;
    const chance = between(1, 100);
    const gateway = this.#gateway;
    if (chance <= 25) {
      const isOuter = chance <= 5;
      const list = Array.from({ length: between(0, 12) }, () => this.#work());
      const id = await gateway.run(isOuter ? 'outer' : 'fan', { list });
      this.accepted.push({ id, kind: isOuter ? 'outer' : 'fan', values: list.map(({ value }) => value) });
    } else if (chance <= 28) {
      this.accepted.push({ id: await gateway.submit('program/handle'), kind: 'program', values: [] });
    } else if (chance <= 38) {
      this.accepted.push({ id: await gateway.submit('counting/handle'), kind: 'counting', values: [] });
    } else if (chance <= 48) {
      const value = between(1, 1_000_000);
      const body = JSON.stringify({ value });
      const { status, body: told } = await send(gateway, '/webhook/kept', body, {
        'X-Signature': sign(webhookKey, body),
      });
      if (status !== 202) throw new Error(`a delivery was not taken: ${status} ${JSON.stringify(told)}`);
      this.accepted.push({ id: String(told['job_id']), kind: 'webhook', values: [value] });
    } else {
      const work = this.#work();
      this.accepted.push({ id: await gateway.submit('working/handle', work), kind: 'direct', values: [work.value] });
    }
  }

  #work() {
    const { between } = this.#random;
    const wait = between(1, 10) === 1 ? between(2, 20) : 0;
    return { value: between(1, 1_000_000), wait, flaky: between(1, 20) === 1 };
  }

  /** Reads a job: a random one, or (two times in three) the oldest whose end has not been read. */
  async #look(): Promise<void> {
    const { between } = this.#random;
    const isAny = between(1, 3) === 1;
    const place = isAny ? between(0, this.accepted.length - 1) : Math.min(this.#unread, this.accepted.length - 1);
    const job = await this.#gateway.job(this.accepted[place]!.id);
    if (job.completed_at === null) return;
    this.#onSeen(job);
    if (place === this.#unread) this.#unread++;
  }
}
