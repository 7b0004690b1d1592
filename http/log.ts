// What the server tells its log: a line for each request, and faults.

/** One answered request; status null: the caller went away first. */
export type RequestLine = {
  readonly method: string;
  /** The pattern, never the path as sent; null where no route was found. */
  readonly route: string | null;
  readonly status: number | null;
  readonly durationUs: number;
  readonly token: string | null;
  readonly requestId: string;
};

export interface ServerLog {
  /** Whether request lines are wanted now. */
  readonly debug: boolean;
  request(line: RequestLine): void;
  /** A call was answered 401 or 403. */
  refused(line: Omit<RequestLine, 'durationUs'>): void;
  /** Something threw that should not have; the caller was answered 500, or cut off. */
  fault(error: unknown, requestId: string): void;
}
