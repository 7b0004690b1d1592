// The JSON Schema of the configuration, after interpolation and after its files are merged.

import { sandboxKinds } from '../../runtime/processes/sandbox.ts';
import { logFormats, loggedJobs, logLevels, servers } from '../config.ts';
import { pipelineDefinitions, pipelinesField } from '../pipeline/schema.ts';
import { concurrencySetting } from '../plugin/concurrency.ts';
import * as field from './field.ts';
import { pluginSchedulesField, schedulesField } from './schedule-fields.ts';
import { scopes } from './scope.ts';
import { uiPathPattern } from './ui.ts';
import { endpointField } from './webhook-fields.ts';

const log = field.closedMap(
  {
    format: field.oneOf(
      logFormats,
      '`json` writes one object per line, for programs; `text` writes lines for people. Default: `text` if stderr is a terminal, else `json`.',
    ),
    jobs: field.oneOf(
      loggedJobs,
      'Which jobs are logged when they end: none, those that failed, or all. Unless `none`, failed attempts are logged too. With `failed`, the other jobs are logged at the level debug. Default: `failed`.',
    ),
    per_minute: field.count(
      0,
      'The maximum number of log lines per minute, separately for jobs, control calls, refused deliveries, and calls that got 401 or 403; one more line counts the omitted ones. Default: `600`.',
      1_000_000,
    ),
  },
  'The contents and format of the log. `service.log_level` sets its level.',
);

const service = field.closedMap(
  {
    name: field.text(
      'a string that is not empty',
      'The name of the service, which appears in each log line. Default: `headgate`.',
    ),
    log_level: field.oneOf(
      logLevels,
      'The minimum level of log lines; `silent` switches the log off. Default: `info`.',
    ),
    strict_mode: field.flag('Start and reload only what `headgate config lock` has sealed. Default: `false`.'),
    max_workers: field.count(
      1,
      'The number of threads for worker plugins; also the maximum number of processes of a persistent plugin, and of processes for one attempt each. Default: the number of processors.',
      1024,
    ),
    max_queue_depth: field.count(
      1,
      'The maximum number of unsettled jobs, without those that `max_waiting` counts; beyond it new calls get 503. Default: `1000000`.',
    ),
    max_waiting: field.count(
      1,
      'The maximum number of jobs that are delayed, paused or held; beyond it new calls that may have to wait too get 503. Default: `10000000`.',
    ),
    max_jobs_per_root: field.count(
      1,
      'The maximum number of descendants of a job or run that a call, a delivery or a schedule created; the next one ends as `dead`. Default: `10000000`.',
    ),
    plugin_env_passthrough: field.listOf(
      field.text('the name of an environment variable', 'A name.', { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
      'Environment variables that plugins may see, in addition to PATH, HOME, TZ, LANG, LANGUAGE, TMPDIR and LC_*. Default: `[]`. Example: `[HTTPS_PROXY]`.',
    ),
  },
  'The service as a whole.',
);

const retention = field.closedMap(
  {
    jobs: field.duration('How long a settled job and its logs are kept. Default: `30d`.'),
    max_jobs: field.count(1, 'The maximum number of settled jobs; the oldest are removed first. Default: `10000000`.'),
    held: field.duration('How long jobs wait for a plugin that cannot run before they fail. Default: `30d`.'),
  },
  'How long settled jobs are kept, and how long held jobs wait.',
);

const state = field.closedMap(
  {
    path: field.text(
      'the path of a directory',
      'The state directory, which is created if necessary. A relative path is relative to this file. Default: `data` beside the main file.',
    ),
    retention: retention,
    log: field.closedMap(
      {
        segment: field.size(
          'The maximum size of a file of the commit log, from 1MB to 1GB, and at most 2 % of the disk. A start after a crash applies at most two of them again. Default: `16MB`.',
        ),
        churn: field.size(
          'How much is written to `data.mdb` between two checkpoints, from 1MB to 64GB: the file is larger than its contents by two to three times this, and at most 5 % of the disk. Default: `32MB`.',
        ),
      },
      'The commit log: each commit is on disk when it is in the log, and `data.mdb` follows.',
    ),
  },
  'Where and how long jobs are stored.',
);

const apiToken = field.closedMap(
  {
    name: field.text(
      'a string that is not empty',
      'The name of the token, which appears in the log and in `submitted_by` of its jobs. Default: none.',
    ),
    token: field.secretText(
      'the text of the token, in visible ASCII characters',
      'The value that clients send after `Authorization: Bearer`. `headgate token new` generates one.',
      {
        // Allows only the characters that can follow `Bearer` in a header.
        pattern: '^[!-~]+$',
      },
    ),
    scopes: field.listOf(
      field.oneOf(scopes, 'A scope, as docs/reference.md lists them.'),
      'The scopes of the token. Example: `[plugin:rw, jobs:ro]`.',
    ),
    expires_at: field.time(
      'The time from which the token is refused. Default: never. Example: `2027-01-01T00:00:00Z`.',
    ),
  },
  'A token of the API.',
  { required: ['token', 'scopes'] },
);

const pem = 'the path of a PEM file';
/** The keys `tls` and `behind_proxy` of the API and of the webhook listener. */
const protection = {
  tls: field.closedMap(
    {
      cert: field.text(pem, 'The PEM file of the certificate and its chain, relative to this file.'),
      key: field.text(pem, 'The PEM file of the private key, without a passphrase, relative to this file.'),
    },
    'The certificate of the listener. With it the listener speaks HTTPS, without it HTTP. Both files are read again at each reload and once a minute.',
    { required: ['cert', 'key'] },
  ),
  behind_proxy: field.flag(
    'Declares that a proxy with TLS is in front, so that the doctor accepts an address that other machines can reach. Default: `false`.',
  ),
};

const api = field.closedMap(
  {
    enabled: field.flag('Whether the API is served. Default: `true`.'),
    server: field.oneOf(
      servers,
      'The HTTP server of all listeners; `auto` selects `uws` if it can be loaded, else `node`. Default: `auto`.',
    ),
    listen: field.listen('The address at which the API listens. Default: `127.0.0.1:8080`.'),
    ...protection,
    max_body_size: field.size('The largest body of a request; a larger one gets 413. Default: `1MB`.'),
    batch_max_size: field.size(
      'The largest body of a batch; a larger one gets 413. Each of its payloads has at most `max_body_size`. Default: `16MB`.',
    ),
    auth: field.closedMap(
      {
        tokens: field.listOf(
          apiToken,
          'The tokens of the API. Default: one token with the scope `*`, which the first start writes to `api-token` in `state.path`.',
        ),
      },
      'Authentication of callers.',
    ),
  },
  'The HTTP API.',
);

const webhooks = field.closedMap(
  {
    listen: field.listen('The address of the webhook listener. Default: `127.0.0.1:8081`.'),
    ...protection,
    endpoints: field.listOf(endpointField, 'The endpoints. Default: `[]`.'),
  },
  'The webhook listener and its endpoints.',
);

const metrics = field.closedMap(
  {
    listen: field.listen(
      'An address of this machine that serves `/metrics` without a token. Default: none; `/metrics` of the API needs a token.',
    ),
    series_max: field.count(
      100,
      'The maximum number of series with names of plugins, pipelines, steps, schedules, endpoints or routes; what comes later is counted together under the name `other`. Default: `5000`.',
      1_000_000,
    ),
  },
  'Metrics for Prometheus.',
);

const ui = field.closedMap(
  {
    enabled: field.flag('Whether the dashboard is served, at the address of the API. Default: `true`.'),
    path: field.text('a path such as /ui', 'The path of the dashboard. Default: `/ui`.', { pattern: uiPathPattern }),
  },
  'The dashboard.',
);

const token = field.closedMap(
  {
    name: field.text('a string that is not empty', 'The name that `secret_ref` of an endpoint refers to.'),
    key: field.secretText(
      'the text of the key',
      'The key, at least 16 bytes. Use an environment variable to keep it out of the file.',
    ),
  },
  'A key for webhook signatures.',
  { required: ['name', 'key'] },
);

const instance = field.closedMap(
  {
    enabled: field.flag(
      'Whether the plugin is available; with `false`, calls of it get 404 and its jobs are held. Default: `true`.',
    ),
    uses: field.name(
      'The plugin of which this is another instance, with its own config and state. Default: the plugin of this name.',
    ),
    config: field.freeMap("The `config` in the plugin's requests. Default: `{}`. Example: `{ greeting: hello }`."),
    parallelism: field.count(
      1,
      'The maximum number of its jobs in flight. Default: limited only by `service.max_workers`, times `concurrency`.',
      100_000,
    ),
    concurrency: concurrencySetting(
      'The maximum number of jobs of a command in flight in one thread or persistent process: a number for all `retry_safe` commands, or a map from command to number. Default: the value in the manifest. Example: `{ handle: 64 }`.',
    ),
    sandbox: field.oneOf(
      sandboxKinds,
      'The sandbox of its processes, which may be stricter than the manifest requires; only for process plugins. Default: the value in the manifest.',
    ),
    limits: field.closedMap(
      {
        memory: field.size('The maximum address space of a process. Default: `2GB`.'),
        cpu: field.duration('The maximum processor time of a process, in whole seconds. Default: `1h`.'),
        file_size: field.size('The maximum size of a file that a process writes. Default: `1GB`.'),
        open_files: field.count(16, 'The maximum number of open files of a process. Default: `1024`.', 1_000_000),
        processes: field.count(
          1,
          "The maximum number of processes of the service's user, in total. Default: no limit.",
          1_000_000,
        ),
      },
      'The limits of the sandbox; only with `sandbox`.',
    ),
    timeouts: field.mapOf(
      field.duration('The deadline of an attempt.'),
      'The deadline of an attempt, by command. Default: 120s for `handle`, 10s for `health`, 60s for the others. Example: `{ handle: 30s }`.',
    ),
    retry: field.closedMap(
      {
        max_attempts: field.count(
          1,
          'The maximum number of attempts of a job; `1` switches retries off. Default: `4`.',
          1000,
        ),
        backoff_base: field.duration(
          'The maximum delay before the second attempt, which doubles with each further attempt. The delay is random, up to that maximum. At most `3650d`. Default: `5s`.',
        ),
        backoff_max: field.duration('The maximum delay before any attempt, at most `3650d`. Default: `10m`.'),
      },
      'How often and when a failed job is retried.',
    ),
    breaker: field.closedMap(
      {
        failures: field.count(1, 'How many of the last attempts must fail.', 1000),
        of: field.count(1, 'How many of the last attempts count; at least `failures`.', 1000),
        for: field.duration('How long the plugin is paused before one of its jobs is tried, at most `3650d`.'),
      },
      'Pauses the plugin when too many of its attempts fail. Default: never. Example: `{ failures: 20, of: 50, for: 5m }`.',
      { required: ['failures', 'of', 'for'] },
    ),
    schedules: pluginSchedulesField,
  },
  'A plugin, or another instance of a plugin.',
);

export const settingsSchema = field.closedMap(
  {
    include: field.listOf(
      field.text('the path of a file or directory', 'A path.'),
      'Further files, or directories whose `*.yaml` files are read in the order of their names, relative to this file. Default: `[]`.',
    ),
    service: service,
    log: log,
    state: state,
    api: api,
    webhooks: webhooks,
    metrics: metrics,
    ui: ui,
    tokens: field.listOf(token, 'The keys for webhook signatures. Default: `[]`.'),
    plugin_roots: field.listOf(
      field.text('the path of a directory, or headgate:bundled', 'A path.', {
        pattern: '^(?!headgate:)|^headgate:bundled$',
      }),
      'Directories below which every `manifest.yaml` is a plugin, relative to this file; `headgate:bundled` contains the bundled plugins. Default: `plugins` beside the main file, which may be missing.',
    ),
    plugins: field.mapOf(
      instance,
      'The settings of plugins, by name. A plugin that is not listed has the default settings. Default: `{}`.',
      field.nameRule,
    ),
    pipelines: pipelinesField,
    schedules: schedulesField,
    vault: field.closedMap(
      {
        key_file: field.text(
          'the path of a file',
          'The file with the unlock key of the vault, relative to this file. Default: `vault.key` in `state.path`.',
        ),
        audit_retention: field.durationOrZero(
          'How long records of the audit trail are kept; `0` keeps all of them. Default: `90d`.',
        ),
        audit_export: field.text(
          'the path of a directory',
          'The directory to which records of the audit trail are exported before they are removed; records that cannot be exported stay. Default: none, so they are removed without an export.',
        ),
      },
      'The vault, which stores secrets.',
    ),
    backups: field.closedMap(
      {
        every: field.duration(
          'How often a backup is written while the service runs, from `1s` to `3650d`. Default: never. Example: `24h`.',
        ),
        keep: field.count(
          1,
          'How many backups of this store are kept, of those whose names are times; older ones are removed after a newer one was written. Default: `7`.',
        ),
        into: field.text(
          'the path of a directory',
          'The directory of scheduled backups and of those that `POST /system/backup` writes, relative to this file. Default: `backups` beside the main file.',
        ),
        log: field.flag(
          'Whether the commit log is copied to `into` too, so that `headgate restore --until` can restore the state as of a time between two backups. It needs `every`. Default: `false`.',
        ),
      },
      'Backups of the state.',
    ),
  },
  'The configuration of headgate.',
  { definitions: pipelineDefinitions },
);
