// Who may do what, typed by hand, not derived from the route table (docs/contract.md#access).

/** Every scope that a token can have. */
export const everyScope = [
  '*',
  'plugin:ro',
  'plugin:rw',
  'plugin:catalog:ro',
  'jobs:ro',
  'jobs:rw',
  'jobs:status:ro',
  'jobs:tree:ro',
  'jobs:logs:ro',
  'jobs:result:ro',
  'control:ro',
  'control:rw',
  'events:ro',
  'events:rw',
  'system:ro',
  'system:rw',
  'metrics:ro',
] as const;
export type ScopeName = (typeof everyScope)[number];

export type Access = {
  readonly route: string;
  /** The path of the request; JOB and ACTION stand for ids. */
  readonly path: string;
  /** Who may call the route: everybody, the admin token of the vault, any API token, or API tokens with one of these scopes. */
  readonly allowed: 'open' | 'admin' | 'token' | readonly ScopeName[];
  /** The status for a caller who may call the route. */
  readonly status: number;
};

function row(route: string, path: string, allowed: Access['allowed'], status = 200): Access {
  return { route, path, allowed, status };
}

export const accessTable: readonly Access[] = [
  // 4.1, a read command and a write command
  row('POST /plugin/{plugin}/{command}', '/plugin/echo/say', ['plugin:ro', 'plugin:rw', '*'], 202),
  row('POST /plugin/{plugin}/{command}', '/plugin/echo/handle', ['plugin:rw', '*'], 202),
  row('POST /plugin/{plugin}/{command}', '/plugin/echo/say?wait=30s', ['plugin:ro', 'plugin:rw', '*'], 200),
  // The request has no body, so a caller who may call the route gets 400.
  row('POST /plugin/{plugin}/{command}/batch', '/plugin/echo/say/batch', ['plugin:ro', 'plugin:rw', '*'], 400),
  row('POST /plugin/{plugin}/{command}/batch', '/plugin/echo/handle/batch', ['plugin:rw', '*'], 400),
  row('POST /pipeline/{pipeline}/batch', '/pipeline/later/batch', ['plugin:rw', '*'], 400),
  row('POST /pipeline/{pipeline}', '/pipeline/later', ['plugin:rw', '*'], 202),
  row('POST /pipeline/{pipeline}', '/pipeline/now', ['plugin:rw', '*'], 200),
  row('POST /pipeline/{pipeline}', '/pipeline/now?async=true', ['plugin:rw', '*'], 202),
  // 4.2
  row('GET /job/{job_id}', '/job/JOB?wait=30s', ['jobs:status:ro', 'jobs:ro', 'jobs:rw', '*']),
  row('GET /job/{job_id}', '/job/JOB', ['jobs:status:ro', 'jobs:ro', 'jobs:rw', '*']),
  row('GET /job/{job_id}/tree', '/job/JOB/tree', ['jobs:tree:ro', 'jobs:ro', 'jobs:rw', '*']),
  row('GET /job/{job_id}/timeline', '/job/JOB/timeline', ['jobs:tree:ro', 'jobs:ro', 'jobs:rw', '*']),
  row('GET /jobs', '/jobs', ['jobs:ro', 'jobs:rw', '*']),
  row('GET /jobs', '/jobs?fingerprint=5f0c2ab17d94e836', ['jobs:ro', 'jobs:rw', '*']),
  row('GET /failures', '/failures', ['jobs:ro', 'jobs:rw', '*']),
  row('GET /job-logs', '/job-logs', ['jobs:logs:ro', 'jobs:ro', 'jobs:rw', '*']),
  row('GET /job-logs', '/job-logs?include_result=true', ['jobs:logs:ro', 'jobs:ro', 'jobs:rw', '*']),
  row('GET /job-logs', '/job-logs?query=asked', ['jobs:ro', 'jobs:rw', '*']),
  // The job has ended. A rerun needs the scope of the command, too.
  row('POST /job/{job_id}/cancel', '/job/JOB/cancel', ['jobs:rw', '*'], 409),
  row('POST /job/{job_id}/run-now', '/job/JOB/run-now', ['jobs:rw', '*'], 409),
  // The request has no body, so a caller who may call the route gets 400.
  row('POST /job/{job_id}/reschedule', '/job/JOB/reschedule', ['jobs:rw', '*'], 400),
  row('POST /job/{job_id}/rerun', '/job/JOB/rerun', ['*'], 202),
  // 4.3
  row('GET /', '/', 'open'),
  row('GET /healthz', '/healthz', 'open'),
  row('GET /plugins', '/plugins', 'open'),
  row('GET /skills', '/skills', 'open'),
  row('GET /openapi.json', '/openapi.json', 'open'),
  row('GET /plugin/{name}/openapi.json', '/plugin/echo/openapi.json', 'open'),
  row('GET /openapi-pipelines.json', '/openapi-pipelines.json', 'open'),
  row('GET /pipeline/{name}/openapi.json', '/pipeline/now/openapi.json', 'open'),
  row('GET /openapi-control.json', '/openapi-control.json', 'token'),
  row('GET /whoami', '/whoami', 'token'),
  row('POST /ui/code', '/ui/code', 'token'),
  // The request has no sign-in code.
  row('POST /ui/session', '/ui/session', 'open', 400),
  row('DELETE /ui/session', '/ui/session', 'token'),
  row('GET /.well-known/ai-plugin.json', '/.well-known/ai-plugin.json', 'open'),
  // 4.4
  row('GET /plugin/{name}', '/plugin/echo', ['plugin:ro', 'plugin:rw', '*']),
  row('GET /pipeline/{pipeline}', '/pipeline/now', ['plugin:ro', 'plugin:rw', '*']),
  row('GET /topology', '/topology', ['plugin:catalog:ro', 'plugin:rw', '*']),
  row('GET /overview', '/overview', ['jobs:ro', 'jobs:rw', '*']),
  row('GET /counts', '/counts', ['jobs:ro', 'jobs:rw', '*']),
  row('GET /stopwatch/{plugin}', '/stopwatch/echo', ['jobs:status:ro', 'jobs:rw', '*']),
  row('GET /stopwatch/{plugin}', '/stopwatch/echo?include_subs=true', ['jobs:status:ro', 'jobs:rw', '*']),
  row('GET /stopwatch/{plugin}', '/stopwatch/echo?series=true&heat=true', ['jobs:status:ro', 'jobs:rw', '*']),
  row('GET /events', '/events', ['events:ro', 'events:rw', '*']),
  row('GET /metrics', '/metrics', ['metrics:ro', '*']),
  // 4.5
  row('POST /system/reload', '/system/reload', ['*']),
  row('POST /system/backup', '/system/backup', ['*']),
  row('GET /analytics/queue', '/analytics/queue', ['*']),
  row('GET /analytics/summary', '/analytics/summary', ['*']),
  row('GET /config/view', '/config/view', ['*']),
  row('GET /system/doctor', '/system/doctor', ['system:ro', 'system:rw', '*']),
  row('GET /system/selfcheck', '/system/selfcheck', ['system:ro', 'system:rw', '*']),
  // 4.6; without a body even the admin is refused
  row('POST /vault/principal', '/vault/principal', 'admin', 400),
  row('POST /vault/principal/revoke', '/vault/principal/revoke', 'admin', 400),
  row('POST /vault/principal/purge', '/vault/principal/purge', 'admin', 400),
  row('POST /vault/principal/roll', '/vault/principal/roll', 'admin', 400),
  row('POST /vault/secret', '/vault/secret', 'admin', 400),
  row('POST /vault/secret/roll', '/vault/secret/roll', 'admin', 400),
  row('POST /vault/secret/revoke', '/vault/secret/revoke', 'admin', 400),
  row('POST /vault/list', '/vault/list', 'admin', 400),
  row('POST /vault/audit/prune', '/vault/audit/prune', 'admin', 400),
  // Control; what is paused is resumed
  row('GET /pauses', '/pauses', ['control:ro', 'control:rw', '*']),
  // Without a body nothing is started.
  row('POST /actions', '/actions', ['control:rw', '*'], 400),
  row('GET /actions', '/actions', ['control:ro', 'control:rw', '*']),
  row('GET /action/{id}', '/action/ACTION', ['control:ro', 'control:rw', '*']),
  row('GET /schedules', '/schedules', ['control:ro', 'control:rw', '*']),
  row('GET /schedule/{id}', '/schedule/rare', ['control:ro', 'control:rw', '*']),
  row('GET /scheduler/jobs', '/scheduler/jobs', ['control:ro', 'control:rw', '*']),
  // It runs a write command.
  row('POST /schedule/{id}/run', '/schedule/rare/run', ['*'], 202),
  row('POST /schedule/{id}/pause', '/schedule/rare/pause', ['control:rw', '*']),
  row('POST /schedule/{id}/resume', '/schedule/rare/resume', ['control:rw', '*']),
  // Without a body nothing is started.
  row('POST /schedule/{id}/backfill', '/schedule/rare/backfill', ['*'], 400),
  ...['/control/plugin/{plugin}', '/control/pipeline/{pipeline}', '/control/system'].flatMap(target => {
    const path = target.replace('{plugin}', 'echo').replace('{pipeline}', 'later');
    return ['pause', 'resume'].map(what => row(`POST ${target}/${what}`, `${path}/${what}`, ['control:rw', '*']));
  }),
];

/** What a caller with these scopes gets to see of a job's outcome. */
export const outcomeTable: readonly (readonly [path: string, scopes: readonly ScopeName[], shown: boolean])[] = [
  ['/job/JOB', ['jobs:status:ro'], false],
  ['/job/JOB?wait=30s', ['jobs:status:ro'], false],
  ['/job/JOB?wait=30s', ['jobs:ro'], true],
  ['/job/JOB', ['jobs:status:ro', 'jobs:result:ro'], true],
  ['/job/JOB', ['jobs:ro'], true],
  ['/job/JOB', ['jobs:rw'], true],
  ['/job/JOB', ['*'], true],
  ['/job/JOB/tree', ['jobs:tree:ro'], false],
  ['/job/JOB/tree', ['jobs:tree:ro', 'jobs:result:ro'], true],
  ['/job/JOB/tree', ['jobs:ro'], true],
  ['/job/JOB/tree', ['jobs:rw'], true],
  ['/job/JOB/tree', ['*'], true],
  ['/job-logs?include_result=true&job_id=JOB', ['jobs:logs:ro'], false],
  ['/job-logs?include_result=true&job_id=JOB', ['jobs:logs:ro', 'jobs:result:ro'], true],
  ['/job-logs?include_result=true&job_id=JOB', ['jobs:ro'], true],
  ['/job-logs?include_result=true&job_id=JOB', ['jobs:rw'], true],
  ['/job-logs?include_result=true&job_id=JOB', ['*'], true],
];

/** Which scopes see the ids of jobs in the stopwatch. */
export const exemplarsTable: readonly (readonly [scopes: readonly ScopeName[], shown: boolean])[] = [
  [['jobs:status:ro'], false],
  [['jobs:status:ro', 'jobs:result:ro'], false],
  [['jobs:status:ro', 'jobs:ro'], true],
  [['jobs:rw'], true],
  [['*'], true],
];

/** Which scopes see the sub-spans in the stopwatch. */
export const subsTable: readonly (readonly [scopes: readonly ScopeName[], shown: boolean])[] = [
  [['jobs:status:ro'], false],
  [['jobs:status:ro', 'jobs:result:ro'], true],
  [['jobs:rw'], true],
  [['*'], true],
];
