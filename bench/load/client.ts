// The load client. On each of many connections, it sends the next request as soon as it has the response.
import { Samples } from '../percentile.ts';
import { Connection } from './connection.ts';
import type { LoadPlan, LoadResult, LoadSample } from './plan.ts';
import { NumberedRequest, type RequestParts, requestBytes } from './request.ts';

export async function load(plan: LoadPlan): Promise<LoadResult> {
  const { hostname, port, host } = new URL(plan.url);
  const opened = await Promise.all(
    Array.from({ length: plan.connections }, () => Connection.open(hostname, Number(port))),
  );
  const run = new Run(plan);
  const parts = { host, token: plan.token };
  await Promise.all(opened.map(connection => run.drive(connection, requestsOf(plan, parts))));
  for (const connection of opened) connection.close();
  return run.result();
}

/** Returns the bytes of request `n`. */
type Requests = (n: number) => Buffer;

function requestsOf(
  { path, padBytes, headers, read }: LoadPlan,
  parts: Pick<RequestParts, 'host' | 'token'>,
): Requests {
  const paths = typeof path === 'string' ? [path] : path;
  if (!read) {
    const requests = paths.map(path => new NumberedRequest({ ...parts, path, ...(headers && { headers }) }, padBytes));
    return n => requests[n % requests.length]!.number(n);
  }
  const reads = paths.map(path => requestBytes({ ...parts, path, method: 'GET', headers: read.headers }));
  return n => reads[n % reads.length]!;
}

class Run {
  readonly #plan: LoadPlan;
  readonly #text: Buffer | null;
  readonly #startMs = performance.now();
  readonly #endMs: number;
  readonly #countMax: number;
  readonly #latenciesUs = new Samples();
  readonly #refused: { [what: string]: number } = {};
  readonly #samples: LoadSample[] = [];
  #sent = 0;
  #completed = 0;
  #lastMs = this.#startMs;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    this.#text = plan.expect.text === undefined ? null : Buffer.from(plan.expect.text);
    this.#endMs = plan.until.kind === 'time' ? this.#startMs + plan.until.ms : Number.POSITIVE_INFINITY;
    this.#countMax = plan.until.kind === 'requests' ? plan.until.count : Number.POSITIVE_INFINITY;
  }

  /**
   * Sends requests on the connection, one after the other. Resolves after the response to the last request, or when the
   * connection has failed.
   */
  drive(connection: Connection, request: Requests): Promise<void> {
    return new Promise(resolve => {
      let n = 0;
      let sentMs = 0;
      connection.onFailure(reason => {
        this.#refuse(reason);
        resolve();
      });
      const next = (): void => {
        sentMs = performance.now();
        if (this.#sent >= this.#countMax || sentMs >= this.#endMs) {
          resolve();
          return;
        }
        n = this.#sent++;
        connection.send(request(n), take);
      };
      const take = (status: number, body: Buffer): void => {
        this.#lastMs = performance.now();
        this.#latenciesUs.add((this.#lastMs - sentMs) * 1000);
        this.#count(n, status, body);
        next();
      };
      next();
    });
  }

  result(): LoadResult {
    return {
      completed: this.#completed,
      refused: this.#refused,
      elapsedMs: this.#lastMs - this.#startMs,
      p50Us: this.#latenciesUs.percentile(50),
      p99Us: this.#latenciesUs.percentile(99),
      samples: this.#samples.sort((a, b) => a.n - b.n),
    };
  }

  #count(n: number, status: number, body: Buffer): void {
    const { expect, sampleEvery } = this.#plan;
    if (status !== expect.status) this.#refuse(`status ${status}: ${body.toString()}`.slice(0, 300));
    else if (this.#text !== null && !body.includes(this.#text)) this.#refuse(`body: ${body.toString()}`.slice(0, 300));
    else {
      this.#completed++;
      if (sampleEvery > 0 && n % sampleEvery === 0) {
        this.#samples.push({ n, jobId: (JSON.parse(body.toString()) as { job_id: string }).job_id });
      }
    }
  }

  #refuse(what: string): void {
    this.#refused[what] = (this.#refused[what] ?? 0) + 1;
  }
}
