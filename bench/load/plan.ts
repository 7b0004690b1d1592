// What the load client is told to do, and what it answers.

export type LoadPlan = {
  readonly url: string;
  /** Several take turns by the number of the request. */
  readonly path: string | readonly string[];
  /** Bytes that are added to each payload. */
  readonly padBytes?: number;
  readonly token: string;
  /** What is read, instead of numbered payloads that are posted; the headers are whole lines, each with its CRLF. */
  readonly read?: { readonly headers: string };
  readonly connections: number;
  /** Ends after so many requests, or so long, whichever is set. */
  readonly until:
    | { readonly kind: 'requests'; readonly count: number }
    | { readonly kind: 'time'; readonly ms: number };
  /** Every response must have this status and, when given, this text in its body. */
  readonly expect: { readonly status: number; readonly text?: string };
  /** Of the requests with numbers that this divides, the job ids are kept. 0: of none. */
  readonly sampleEvery: number;
};

export type LoadSample = { readonly n: number; readonly jobId: string };

export type LoadResult = {
  readonly completed: number;
  /** Responses that were not as expected, and connections that broke, by what was wrong. */
  readonly refused: { readonly [what: string]: number };
  readonly elapsedMs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly samples: readonly LoadSample[];
};
