// Events of webhook deliveries: one for every accepted delivery; for refused deliveries the rate of events is bounded.
import type { Observations, PlainObservation } from '../../actors/hub/protocol.ts';
import { type HttpProblem, type ProblemCode, problemStatus } from '../problem.ts';

/**
 * The minimum interval between two events about refusals with the same endpoint and code. It keeps callers without the key from filling the ring of
 * observations.
 */
export const rejectedEventEveryMs = 1_000;

type DeliveryEventsOptions = {
  readonly publish: (groups: readonly Observations[]) => void;
  readonly nowMs: () => number;
  readonly later: (act: () => void, ms: number) => void;
  /** Called for every accepted delivery. */
  readonly onAccepted?: (endpoint: string) => void;
  /** Called for every refusal that `rejected` gets, even if no event is published for it. */
  readonly onRejected: (endpoint: string, refusal: HttpProblem) => void;
};

export class DeliveryEvents {
  readonly #options: DeliveryEventsOptions;
  /** The number of refusals since the last event, by endpoint and code. */
  readonly #unreported = new Map<string, number>();

  constructor(options: DeliveryEventsOptions) {
    this.#options = options;
  }

  accepted(endpoint: string, jobId: string): void {
    this.#options.onAccepted?.(endpoint);
    this.#publish('webhook.accepted', { endpoint, job_id: jobId });
  }

  /**
   * Reports a refusal. Of refusals with the same endpoint and code, the first is published at once. Those that follow within
   * `rejectedEventEveryMs` are counted and published together.
   */
  rejected(endpoint: string, refusal: HttpProblem): void {
    this.#options.onRejected(endpoint, refusal);
    const key = `${endpoint} ${refusal.code}`;
    const unreported = this.#unreported.get(key);
    if (unreported === undefined) this.#publishRejected(key, endpoint, refusal, 1);
    else this.#unreported.set(key, unreported + 1);
  }

  #publishRejected(key: string, endpoint: string, refusal: HttpProblem, count: number): void {
    const code: ProblemCode = refusal.code;
    this.#publish('webhook.rejected', { endpoint, status: problemStatus(refusal), code, count });
    this.#unreported.set(key, 0);
    this.#options.later(() => {
      const unreported = this.#unreported.get(key)!;
      if (unreported === 0) this.#unreported.delete(key);
      else this.#publishRejected(key, endpoint, refusal, unreported);
    }, rejectedEventEveryMs);
  }

  #publish(type: PlainObservation['type'], fields: PlainObservation['fields']): void {
    const { publish, nowMs } = this.#options;
    publish([{ kind: 'plain', type, atUs: nowMs() * 1000, fields }]);
  }
}
