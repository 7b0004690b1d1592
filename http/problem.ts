// Defines the codes of refusals, and encodes refusals as problem details (RFC 9457).

type ProblemKind = { readonly status: number; readonly title: string; readonly retryAfterSeconds?: number };

/** Every code with which a request can be refused. Codes are stable: clients can branch on them. */
export const problems = {
  malformed_request: { status: 400, title: 'Malformed request' },
  invalid_path: { status: 400, title: 'Invalid path' },
  invalid_query: { status: 400, title: 'Invalid query' },
  invalid_json: { status: 400, title: 'Invalid JSON' },
  invalid_request: { status: 400, title: 'Invalid request' },
  invalid_payload: { status: 400, title: 'Invalid payload' },
  several_entry_dispatches: { status: 400, title: 'Several entry dispatches' },
  invalid_idempotency_key: { status: 400, title: 'Invalid Idempotency-Key' },
  orphan_grant: { status: 400, title: 'Orphan grant' },
  reserved_entity: { status: 400, title: 'Reserved entity' },
  revoked_secret: { status: 400, title: 'Revoked secret' },
  revoked_principal: { status: 400, title: 'Revoked principal' },
  unknown_secret: { status: 400, title: 'Unknown secret' },
  unknown_principal: { status: 400, title: 'Unknown principal' },
  missing_value: { status: 400, title: 'Missing value' },
  invalid_value: { status: 400, title: 'Invalid value' },
  invalid_name: { status: 400, title: 'Invalid name' },
  invalid_kind: { status: 400, title: 'Invalid kind' },
  invalid_pattern: { status: 400, title: 'Invalid pattern' },
  invalid_code: { status: 400, title: 'Invalid code' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  unknown_route: { status: 404, title: 'Not found' },
  unknown_plugin: { status: 404, title: 'Unknown plugin' },
  unknown_command: { status: 404, title: 'Unknown command' },
  unknown_pipeline: { status: 404, title: 'Unknown pipeline' },
  unknown_action: { status: 404, title: 'Unknown action' },
  unknown_schedule: { status: 404, title: 'Unknown schedule' },
  unknown_job: { status: 404, title: 'Unknown job' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'Request timeout' },
  already_settled: { status: 409, title: 'The job has ended already' },
  ending: { status: 409, title: 'The run is in its last phase' },
  broken_trail: { status: 409, title: 'The audit trail is broken' },
  not_settled: { status: 409, title: 'The job has not ended' },
  not_waiting: { status: 409, title: 'The job is not waiting' },
  not_kept: { status: 409, title: 'No longer stored' },
  backup_refused: { status: 409, title: 'Backup refused' },
  backup_running: { status: 409, title: 'A backup is being written' },
  reload_refused: { status: 409, title: 'Reload refused' },
  reload_would_hold: { status: 409, title: 'The reload would hold jobs' },
  length_required: { status: 411, title: 'Length required' },
  body_too_large: { status: 413, title: 'Body too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  idempotency_mismatch: { status: 422, title: 'Idempotency-Key used for another request' },
  head_too_large: { status: 431, title: 'Request head too large' },
  internal_error: { status: 500, title: 'Internal error' },
  too_many_streams: { status: 503, title: 'Too many streams', retryAfterSeconds: 5 },
  too_many_reads: { status: 503, title: 'Too many reads', retryAfterSeconds: 1 },
  queue_full: { status: 503, title: 'Queue full', retryAfterSeconds: 1 },
  too_many_waiting: { status: 503, title: 'Too many waiting jobs', retryAfterSeconds: 10 },
  too_many_actions: { status: 503, title: 'Too many actions', retryAfterSeconds: 10 },
  paused: { status: 503, title: 'Paused', retryAfterSeconds: 60 },
  disk_full: { status: 503, title: 'Disk full', retryAfterSeconds: 30 },
  unavailable: { status: 503, title: 'Unavailable', retryAfterSeconds: 1 },
  overloaded: { status: 503, title: 'Overloaded', retryAfterSeconds: 1 },
  backup_failed: { status: 503, title: 'The backup was not written', retryAfterSeconds: 60 },
  export_failed: { status: 503, title: 'The audit trail cannot be exported', retryAfterSeconds: 60 },
  vault_unavailable: { status: 503, title: 'No vault is open', retryAfterSeconds: 30 },
  stopping: { status: 503, title: 'Shutting down', retryAfterSeconds: 5 },
  http_version: { status: 505, title: 'HTTP version not supported' },
} as const satisfies { readonly [code: string]: ProblemKind };

export type ProblemCode = keyof typeof problems;
/** One of the errors of a request. `pointer` leads into the body or, with an `index`, into the payload of the batch at this index. */
export type ProblemItem = { readonly index?: number; readonly pointer: string; readonly message: string };

export type HttpProblem = {
  readonly kind: 'problem';
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors?: readonly ProblemItem[];
  /** The status of the job, if the request is refused because of this status. */
  readonly jobStatus?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Why, for the log; the answer does not have it. */
  readonly reason?: string;
};

export function problem(
  code: ProblemCode,
  detail: string,
  more?: Pick<HttpProblem, 'errors' | 'headers' | 'jobStatus' | 'reason'>,
): HttpProblem {
  return { kind: 'problem', code, detail, ...more };
}

/** Escapes a key for a JSON Pointer. */
export function pointerPart(key: unknown): string {
  return String(key).replaceAll('~', '~0').replaceAll('/', '~1');
}

const pointerCharactersMax = 1_024;

/** A pointer as an answer shows it. Instead of one that is too long, this is the pointer of the nearest value around it that is short enough. */
export function shownPointer(pointer: string): string {
  return pointer.length <= pointerCharactersMax
    ? pointer
    : pointer.slice(0, pointer.lastIndexOf('/', pointerCharactersMax));
}

export function isProblem(value: unknown): value is HttpProblem {
  return typeof value === 'object' && value !== null && (value as { readonly kind?: unknown }).kind === 'problem';
}

/** The refusal of a body or payload with these errors. */
export function mismatchProblem(code: ProblemCode, errors: readonly ProblemItem[]): HttpProblem {
  const detail = errors.map(({ pointer, message }) => `${pointer === '' ? 'the body' : pointer} ${message}`).join('; ');
  return problem(code, detail, errors.length > 1 ? { errors } : undefined);
}

/** The refusal of a body for one error. */
export function invalidAt(pointer: string, message: string): HttpProblem {
  return mismatchProblem('invalid_request', [{ pointer, message }]);
}

export function problemStatus(of: HttpProblem): number {
  return problems[of.code].status;
}

/** The headers of a refusal: its own headers, and the headers that its code and status require. */
export function problemHeaders(of: HttpProblem): readonly (readonly [name: string, value: string])[] {
  const headers = [...(of.headers ?? [])];
  const kind: ProblemKind = problems[of.code];
  if (kind.status === 401) headers.push(['WWW-Authenticate', 'Bearer']);
  const hasRetryAfter = headers.some(([name]) => name === 'Retry-After');
  if (kind.retryAfterSeconds !== undefined && !hasRetryAfter)
    headers.push(['Retry-After', String(kind.retryAfterSeconds)]);
  return headers;
}

/** The body of a refusal, of type `application/problem+json`. */
export function writeProblem(of: HttpProblem, requestId: string): string {
  const { status, title } = problems[of.code];
  return JSON.stringify({
    type: `urn:headgate:problem:${of.code}`,
    title,
    status,
    detail: of.detail,
    code: of.code,
    error: of.detail,
    request_id: requestId,
    ...(of.errors ? { errors: of.errors } : undefined),
    ...(of.jobStatus ? { job_status: of.jobStatus } : undefined),
  });
}
