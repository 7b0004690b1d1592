// Counts the requests of the HTTP servers, and the deliveries of webhooks, since startup.
import type { Refusal } from '../../actors/job/protocol.ts';
import { Buckets, secondsLimits } from '../../runtime/buckets.ts';
import type { MetricFamily } from './family.ts';

/** The route of a request, as the HTTP server knows it. Several objects may stand for one route, for example after a reload. */
export type MeteredRoute = {
  readonly method: string;
  readonly path: string;
  readonly answers: { readonly [status: number]: { readonly types?: readonly string[] } };
};

type RouteCounts = {
  readonly method: string;
  readonly path: string;
  /** The number of requests by status; `goneStatus`: the connection closed before the answer was complete. */
  readonly codes: Map<number, number>;
  /** The durations. Null: the route answers with an event stream, whose reader decides the duration. */
  readonly seconds: Buckets | null;
};

/**
 * Stands for requests without a route (for example, their path is unknown, has no route for their method, or admission refused them), and for
 * routes beyond `routesMax`.
 */
const noRoute: MeteredRoute = { method: 'other', path: 'none', answers: {} };
const eventStreamType = 'text/event-stream';
/** The codes of refusals that count as refused work. Each is answered with 503. */
const reasons: ReadonlySet<string> = new Set<Refusal>([
  ...(['queue_full', 'too_many_waiting', 'too_many_actions', 'disk_full'] as const),
  ...(['paused', 'unavailable', 'overloaded', 'stopping'] as const),
]);
const goneStatus = 0;
/** The maximum number of routes that are counted separately, and also of pairs of a webhook endpoint and a status. */
export const routesMax = 1_000;

export class RequestMeter {
  readonly #known = new WeakMap<MeteredRoute, RouteCounts>();
  readonly #routes = new Map<string, RouteCounts>();
  readonly #refused = new Map<string, number>();
  readonly #deliveries = new Map<string, { readonly endpoint: string; readonly code: string; count: number }>();

  /** Counts a finished request. `status` null: the connection closed before the answer was complete. */
  count(route: MeteredRoute | null, status: number | null, durationMs: number): void {
    const counts = this.#known.get(route ?? noRoute) ?? this.#open(route ?? noRoute);
    const code = status ?? goneStatus;
    counts.codes.set(code, (counts.codes.get(code) ?? 0) + 1);
    counts.seconds?.add(durationMs / 1000);
  }

  /**
   * Counts a refusal of a POST if its code is in `reasons`. Admission refuses with `stopping` before it finds the route, so this code counts
   * without a route, too.
   */
  refused(route: MeteredRoute | null, code: string): void {
    if (!reasons.has(code) || (route === null ? code !== 'stopping' : route.method !== 'POST')) return;
    this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
  }

  /** Counts the delivery of a webhook. */
  delivered(endpoint: string, status: number): void {
    const key = `${endpoint} ${status}`;
    const known = this.#deliveries.get(key);
    if (known) known.count++;
    else if (this.#deliveries.size < routesMax) this.#deliveries.set(key, { endpoint, code: String(status), count: 1 });
  }

  #open(route: MeteredRoute): RouteCounts {
    const isCounted = this.#routes.has(keyOf(route)) || this.#routes.size < routesMax;
    const { method, path, answers } = isCounted ? route : noRoute;
    const key = keyOf({ method, path });
    let counts = this.#routes.get(key);
    if (!counts) {
      const seconds = answers[200]?.types?.includes(eventStreamType) ? null : new Buckets(secondsLimits);
      counts = { method, path, codes: new Map(), seconds };
      this.#routes.set(key, counts);
    }
    this.#known.set(route, counts);
    return counts;
  }

  families(): readonly MetricFamily[] {
    const routes = [...this.#routes.values()];
    return [
      {
        name: 'headgate_http_requests',
        type: 'counter',
        help: 'Answered requests by route and status; code gone: the caller disconnected. Begins at 0 at each start.',
        named: ['route'],
        samples: routes.flatMap(({ path, method, codes }) =>
          Array.from(codes, ([status, value]) => {
            const code = status === goneStatus ? 'gone' : String(status);
            return { labels: { route: path, method, code }, value };
          }),
        ),
      },
      {
        name: 'headgate_http_request_seconds',
        type: 'histogram',
        help: 'From the head of a request to its answer, without event streams. Begins at 0 at each start.',
        named: ['route'],
        samples: routes.flatMap(({ path, method, seconds }) =>
          seconds === null ? [] : [{ labels: { route: path, method }, value: seconds.read() }],
        ),
      },
      {
        name: 'headgate_jobs_refused',
        type: 'counter',
        help: 'Calls and deliveries that were refused with 503, by reason. Begins at 0 at each start.',
        samples: Array.from(this.#refused, ([reason, value]) => ({ labels: { reason }, value })),
      },
      {
        name: 'headgate_webhook_deliveries',
        type: 'counter',
        help: 'Deliveries to webhook endpoints by status of their answer. Begins at 0 at each start.',
        named: ['endpoint'],
        samples: [...this.#deliveries.values()].map(({ endpoint, code, count: value }) => ({
          labels: { endpoint, code },
          value,
        })),
      },
    ];
  }
}

function keyOf({ method, path }: Pick<MeteredRoute, 'method' | 'path'>): string {
  return `${method} ${path}`;
}
