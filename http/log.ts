// The log of an HTTP server: request lines, refused callers, control calls and unexpected errors.
import { formatId } from '../runtime/ids.ts';
import type { HttpCall, Route } from './route.ts';

/** One request. Its status is null if the connection closed before the answer was complete. */
export type RequestLine = {
  readonly method: string;
  /** The route's path with parameters in braces, never the path as it was sent; null if no route was found. */
  readonly route: string | null;
  readonly status: number | null;
  readonly durationUs: number;
  readonly token: string | null;
  readonly requestId: string;
  /** The job that the call has submitted. If the call submitted no job and the status is below 400: the job in the path. Absent: neither exists. */
  readonly job_id?: string;
};

/**
 * A control call that has succeeded, with the names in its path, such as `plugin`, `job_id` or the `id` of a schedule. If the call submitted another
 * job than the one in its path (a rerun), `job_id` is the new job and `rerun_of` the job in the path.
 */
export type ControlLine = RequestLine & { readonly [name: string]: unknown };

export interface ServerLog {
  /** Whether request lines are logged now. */
  readonly debug: boolean;
  request(line: RequestLine): void;
  /** Called when the answer was 401 or 403. */
  refused(line: RequestLine): void;
  /** Called when a control call has succeeded (`isControl`). */
  control(line: ControlLine): void;
  /** Called for an unexpected error while a request is handled. */
  fault(error: unknown, requestId: string): void;
}

type PathParams = { readonly [name: string]: string };

export function requestLine(
  call: Pick<HttpCall<PathParams>, 'caller' | 'requestId' | 'submitted' | 'params'>,
  method: string,
  route: string | null,
  status: number | null,
  durationMs: number,
): RequestLine {
  const { caller, requestId, params, submitted } = call;
  const inPath = isAnswered(status) ? params['job_id'] : undefined;
  const job = submitted === null ? inPath : formatId(submitted);
  const durationUs = Math.round(durationMs * 1000);
  const line = { method, route, status, durationUs, token: caller?.name ?? null, requestId };
  return job === undefined ? line : { ...line, job_id: job };
}

export function controlLine(line: RequestLine, params: PathParams): ControlLine {
  const { job_id: old } = params;
  const isRerun = old !== undefined && line.job_id !== old;
  return { ...params, ...line, ...(isRerun && { rerun_of: old }) };
}

/** The line that is logged for a request in addition to the debug line; null: no other line. */
export function lineKind(route: Route | null, status: number | null): 'refused' | 'control' | null {
  if (status === 401 || status === 403) return 'refused';
  return route !== null && isControl(route) && isAnswered(status) ? 'control' : null;
}

/** Whether the route can change jobs, pauses, schedules or actions: it needs `jobs:rw` or `control:rw`. */
function isControl({ method, access }: Route): boolean {
  if (method !== 'POST' || access.kind !== 'scopes') return false;
  return access.anyOf.includes('jobs:rw') || access.anyOf.includes('control:rw');
}

function isAnswered(status: number | null): boolean {
  return status !== null && status < 400;
}
