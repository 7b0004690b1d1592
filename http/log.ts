// The log of an HTTP server: request lines and faults.

/** One request. Its status is null if the caller disconnected before it was answered. */
export type RequestLine = {
  readonly method: string;
  /** The pattern, never the path as sent; null: no route matched. */
  readonly route: string | null;
  readonly status: number | null;
  readonly durationUs: number;
  readonly token: string | null;
  readonly requestId: string;
};

export interface ServerLog {
  /** Whether request lines are logged now. */
  readonly debug: boolean;
  request(line: RequestLine): void;
  /** Called when the answer was 401 or 403. */
  refused(line: Omit<RequestLine, 'durationUs'>): void;
  /** A bug: the caller was answered 500, or its connection was closed. */
  fault(error: unknown, requestId: string): void;
}
