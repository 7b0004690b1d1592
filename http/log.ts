// The log of an HTTP server: request lines, refused callers and unexpected errors.

/** One request. Its status is null if the caller disconnected before the answer was complete. */
export type RequestLine = {
  readonly method: string;
  /** The route's path with parameters in braces, never the path as it was sent; null if no route matched. */
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
  /** Called for an unexpected error while a request is handled. */
  fault(error: unknown, requestId: string): void;
}
