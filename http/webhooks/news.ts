// What the event stream hears of deliveries: every accepted one, and of refused ones a bounded number.
import type { Observations, PlainObservation } from '../../actors/hub/protocol.ts';
import { type Problem, type ProblemCode, problemStatus } from '../problem.ts';

/** Refusals of one endpoint and code are told at most so often: nobody without the key can fill the ring of the stream. */
export const tellEveryMs = 1_000;

export type NewsOptions = {
  readonly publish: (groups: readonly Observations[]) => void;
  readonly nowMs: () => number;
  readonly later: (act: () => void, ms: number) => void;
  /** Hears of every one. */
  readonly onRejected: (endpoint: string, status: number, code: ProblemCode) => void;
};

export class DeliveryNews {
  readonly #options: NewsOptions;
  /** Endpoint and code -> refusals since they were last told. */
  readonly #untold = new Map<string, number>();

  constructor(options: NewsOptions) {
    this.#options = options;
  }

  accepted(endpoint: string, jobId: string): void {
    this.#publish('webhook.accepted', { endpoint, job_id: jobId });
  }

  /** The first is told at once; those that follow within the time are counted, and told together. */
  rejected(endpoint: string, refusal: Problem): void {
    this.#options.onRejected(endpoint, problemStatus(refusal), refusal.code);
    const key = `${endpoint} ${refusal.code}`;
    const untold = this.#untold.get(key);
    if (untold === undefined) this.#tell(key, endpoint, refusal, 1);
    else this.#untold.set(key, untold + 1);
  }

  #tell(key: string, endpoint: string, refusal: Problem, count: number): void {
    const code: ProblemCode = refusal.code;
    this.#publish('webhook.rejected', { endpoint, status: problemStatus(refusal), code, count });
    this.#untold.set(key, 0);
    this.#options.later(() => {
      const untold = this.#untold.get(key)!;
      if (untold === 0) this.#untold.delete(key);
      else this.#tell(key, endpoint, refusal, untold);
    }, tellEveryMs);
  }

  #publish(type: PlainObservation['type'], fields: PlainObservation['fields']): void {
    const { publish, nowMs } = this.#options;
    publish([{ kind: 'plain', type, atUs: nowMs() * 1000, fields }]);
  }
}
