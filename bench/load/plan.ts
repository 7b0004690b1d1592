// The plan for the load client, and its result.

export type LoadPlan = {
  readonly url: string;
  /** Several paths are requested in turn. */
  readonly path: string | readonly string[];
  /** The number of bytes that are added to each payload. */
  readonly padBytes?: number;
  readonly token: string;
  /** The headers of POST requests: whole lines, each with CRLF. */
  readonly headers?: string;
  /**
   * Present: sends GET requests with these headers (whole lines, each with CRLF) instead of POST requests with numbered
   * payloads.
   */
  readonly read?: { readonly headers: string };
  readonly connections: number;
  /** The load ends after a number of requests or a time, whichever is set. */
  readonly until:
    | { readonly kind: 'requests'; readonly count: number }
    | { readonly kind: 'time'; readonly ms: number };
  /** Every response must have this status and, if `text` is present, this text in its body. */
  readonly expect: { readonly status: number; readonly text?: string };
  /** The job id of every n-th request is kept. 0: no id is kept. */
  readonly sampleEvery: number;
};

export type LoadSample = { readonly n: number; readonly jobId: string };

export type LoadResult = {
  readonly completed: number;
  /** Counts of unexpected responses and broken connections, by reason. */
  readonly refused: { readonly [what: string]: number };
  readonly elapsedMs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly samples: readonly LoadSample[];
};
