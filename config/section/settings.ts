// The JSON Schema of a configuration file, after interpolation and merging.
//
// A reload puts a changed key into force at once, unless the key is wrapped in `field.restart`: then it waits for the next start.
import { sandboxKinds } from '../../runtime/processes/sandbox.ts';
import { logFormats, loggedJobs, logLevels, servers } from '../config.ts';
import { pipelineDefinitions, pipelinesField } from '../pipeline/schema.ts';
import { concurrencySetting } from '../plugin/concurrency.ts';
import * as field from './field.ts';
import { scopes } from './scope.ts';
import { endpointField } from './webhook-fields.ts';

const { optional } = field;

const log = field.closedMap(
  {
    format: optional(
      field.oneOf(
        logFormats,
        '`json`: the log is an object a line, for programs; `text`: it is lines for people. Default: `text` where stderr is a terminal, else `json`.',
      ),
    ),
    jobs: optional(
      field.oneOf(
        loggedJobs,
        'Of which jobs the log tells the end: of none, of those that failed, or of all. Default: `failed`.',
      ),
    ),
    per_minute: optional(
      field.count(
        0,
        'How many lines a minute the log has about jobs, how many about refused deliveries, and how many about calls that got 401 or 403; one more line says how many were left out. Default: `600`.',
        1_000_000,
      ),
    ),
  },
  'What the log says, and how. Its level is `service.log_level`.',
);

const service = field.closedMap(
  {
    name: optional(
      field.text({
        expected: 'a text that is not empty',
        description: 'The name of the service, in each line of its log. Default: `headgate`.',
      }),
    ),
    log_level: optional(
      field.oneOf(
        logLevels,
        'The log has lines of this level and above it; `silent` switches it off. Default: `info`.',
      ),
    ),
    strict_mode: optional(
      field.flag('Start, and reload, only what is as `headgate config lock` sealed it. Default: `false`.'),
    ),
    max_workers: optional(
      field.restart(
        'service.workersMax',
        field.count(
          1,
          'How many threads run worker plugins; also how many processes of a persistent plugin there are at most, and how many processes for an attempt each. Default: the number of processors.',
          1024,
        ),
      ),
    ),
    max_queue_depth: optional(
      field.count(
        1,
        'How many jobs may be unsettled, without those that `max_waiting` counts; past it new calls get 503. Default: `1000000`.',
      ),
    ),
    max_waiting: optional(
      field.count(
        1,
        'How many jobs may be held or wait for their next attempt; past it new calls that may have to wait too get 503. Default: `10000000`.',
      ),
    ),
    max_jobs_per_root: optional(
      field.count(
        1,
        'How many jobs may descend from one call or delivery; the next one ends as `dead`. Default: `10000000`.',
      ),
    ),
    plugin_env_passthrough: optional(
      // Plugin hosts keep the environment that they were started with.
      field.restart(
        'service.pluginEnvPassthrough',
        field.listOf(
          field.text({
            pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
            expected: 'the name of an environment variable',
            description: 'A name.',
          }),
          'Environment variables that plugins may see, besides PATH, HOME, TZ, LANG, LANGUAGE, TMPDIR and LC_*. Default: `[]`. Example: `[HTTPS_PROXY]`.',
        ),
      ),
    ),
  },
  'The service as a whole.',
);

const retention = field.closedMap(
  {
    jobs: optional(field.duration('How long a settled job is kept, with its log. Default: `30d`.')),
    max_jobs: optional(field.count(1, 'How many settled jobs are kept; the oldest go first. Default: `10000000`.')),
    held: optional(field.duration('How long jobs wait for a plugin that cannot run; then they fail. Default: `30d`.')),
  },
  'How long settled jobs are kept, and held ones wait.',
);

const state = field.closedMap(
  {
    path: optional(
      field.restart(
        'state.path',
        field.text({
          expected: 'the path of a directory',
          description:
            'The directory of everything that is stored; it is created. A relative path is relative to this file. Default: `data` beside the main file.',
        }),
      ),
    ),
    retention: optional(retention),
  },
  'Where jobs are stored, and for how long.',
);

const apiToken = field.closedMap(
  {
    name: optional(
      field.text({
        expected: 'a text that is not empty',
        description: 'The name of the token, which the log and `submitted_by` of its jobs show. Default: none.',
      }),
    ),
    token: field.secretText({
      // What can stand behind `Bearer`.
      pattern: '^[!-~]+$',
      expected: 'the text of the token, in visible ASCII characters',
      description: 'What clients send after `Authorization: Bearer`. `headgate token new` makes one.',
    }),
    scopes: field.listOf(
      field.oneOf(scopes, 'A scope, as docs/reference.md lists them.'),
      'What the token may do. Example: `[plugin:rw, jobs:ro]`.',
    ),
    expires_at: optional(
      field.text({
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$',
        expected: 'a time such as 2027-01-01T00:00:00Z',
        description: 'The time from which the token is refused. Default: never. Example: `2027-01-01T00:00:00Z`.',
      }),
    ),
  },
  'A token of the API.',
);

/** Of the listener of a section. */
const protection = (section: 'api' | 'webhooks') => {
  const pem = { expected: 'the path of a PEM file' };
  const tls = field.closedMap(
    {
      cert: field.text({
        ...pem,
        description: 'The PEM file of the certificate and its chain, relative to this file.',
      }),
      key: field.text({
        ...pem,
        description: 'The PEM file of the private key, without a passphrase, relative to this file.',
      }),
    },
    'The certificate of the listener, which speaks HTTPS with it and HTTP without. Both files are read again by a reload, and once a minute.',
  );
  return {
    tls: optional(field.restartToSwitch(`${section}.tls`, tls)),
    behind_proxy: optional(
      field.flag(
        'A proxy with TLS stands in front, so that the doctor accepts an address that other machines can reach. Default: `false`.',
      ),
    ),
  };
};

const api = field.closedMap(
  {
    enabled: optional(field.restart('api.enabled', field.flag('Whether the API listens at all. Default: `true`.'))),
    server: optional(
      field.restart(
        'api.server',
        field.oneOf(
          servers,
          'The HTTP server of both listeners; `auto` takes `uws` where it can be loaded, else `node`. Default: `auto`.',
        ),
      ),
    ),
    listen: optional(
      field.restart('api.listen', field.listen('The address at which the API listens. Default: `127.0.0.1:8080`.')),
    ),
    ...protection('api'),
    max_body_size: optional(field.size('The largest body of a request; a larger one gets 413. Default: `1MB`.')),
    auth: optional(
      field.closedMap(
        {
          tokens: optional(
            field.listOf(
              apiToken,
              'The tokens of the API. Default: one token with the scope `*`, which the first start writes to `api-token` in `state.path`.',
            ),
          ),
        },
        'Who may call.',
      ),
    ),
  },
  'The HTTP API.',
);

const webhooks = field.closedMap(
  {
    listen: optional(
      field.restart(
        'webhooks.listen',
        field.listen('The address at which webhooks arrive. Default: `127.0.0.1:8081`.'),
      ),
    ),
    ...protection('webhooks'),
    endpoints: optional(field.listOf(endpointField, 'The endpoints. Default: `[]`.')),
  },
  'The listener for webhooks, and its endpoints.',
);

const token = field.closedMap(
  {
    name: field.text({
      expected: 'a text that is not empty',
      description: 'The name by which `secret_ref` of an endpoint finds the key.',
    }),
    key: field.secretText({
      expected: 'the text of the key',
      description: 'The key, of at least 16 bytes; a variable of the environment keeps it out of the file.',
    }),
  },
  'A key for the signatures of webhooks.',
);

const instance = field.closedMap(
  {
    enabled: optional(
      field.flag('Whether the plugin is there; `false` makes calls of it 404, and holds its jobs. Default: `true`.'),
    ),
    uses: optional(
      field.name(
        'The plugin that this is a further instance of, with its own config and state. Default: the plugin of this name.',
      ),
    ),
    config: optional(
      field.freeMap('What the plugin gets as its `config`. Default: `{}`. Example: `{ greeting: hello }`.'),
    ),
    parallelism: optional(
      field.count(
        1,
        'How many jobs of it are under way at once at most. Default: no limit but `service.max_workers`, times `concurrency`.',
        100_000,
      ),
    ),
    concurrency: optional(
      concurrencySetting(
        'How many jobs of a command may be under way at once in one thread or persistent process: a number for all commands that are `retry_safe`, or a map from command to number. Default: what the manifest says. Example: `{ handle: 64 }`.',
      ),
    ),
    sandbox: optional(
      field.oneOf(
        sandboxKinds,
        'What its processes run in; it may be stricter than the manifest asks for, and is for process plugins alone. Default: what the manifest asks for.',
      ),
    ),
    limits: optional(
      field.closedMap(
        {
          memory: optional(field.size('How much address space a process may take. Default: `2GB`.')),
          cpu: optional(field.duration('How much processor time a process may take, in whole seconds. Default: `1h`.')),
          file_size: optional(field.size('The largest file that a process may write. Default: `1GB`.')),
          open_files: optional(field.count(16, 'How many files a process may have open. Default: `1024`.', 1_000_000)),
          processes: optional(
            field.count(1, 'How many processes the user of the service may have in all. Default: no limit.', 1_000_000),
          ),
        },
        'What the sandbox limits; only with `sandbox`.',
      ),
    ),
    timeouts: optional(
      field.mapOf(
        field.duration('The deadline of an attempt.'),
        'How long an attempt may take, by command. Default: 120s for `handle`, 10s for `health`, 60s for the others. Example: `{ handle: 30s }`.',
      ),
    ),
    retry: optional(
      field.closedMap(
        {
          max_attempts: optional(
            field.count(1, 'How many attempts a job has in all; `1` switches retries off. Default: `4`.', 1000),
          ),
          backoff_base: optional(
            field.duration(
              'The longest delay before the second attempt; it doubles with each further one, and the delay is a random part of it. Default: `5s`.',
            ),
          ),
          backoff_max: optional(field.duration('The longest delay before any attempt. Default: `10m`.')),
        },
        'How often, and when, a failed job runs again.',
      ),
    ),
  },
  'A plugin, or a further instance of one.',
);

export const settingsSchema = field.closedMap(
  {
    include: optional(
      field.listOf(
        field.text({ expected: 'the path of a file or directory', description: 'A path.' }),
        'Further files, or directories whose `*.yaml` are read in the order of their names, relative to this file. Default: `[]`.',
      ),
    ),
    service: optional(service),
    log: optional(log),
    state: optional(state),
    api: optional(api),
    webhooks: optional(webhooks),
    tokens: optional(field.listOf(token, 'The keys of webhooks. Default: `[]`.')),
    plugin_roots: optional(
      field.listOf(
        field.text({
          pattern: '^(?!headgate:)|^headgate:bundled$',
          expected: 'the path of a directory, or headgate:bundled',
        }),
        'Directories below which every `manifest.yaml` is a plugin, relative to this file; `headgate:bundled` has the plugins that come with headgate. Default: `plugins` beside the main file, which may be missing.',
      ),
    ),
    plugins: optional(
      field.mapOf(
        instance,
        'The settings of plugins, by name. A plugin that is not named here has the default of each. Default: `{}`.',
        field.nameRule,
      ),
    ),
    pipelines: optional(pipelinesField),
    vault: optional(
      field.closedMap(
        {
          key_file: optional(
            field.text({
              expected: 'the path of a file',
              description:
                'The file of the key that unlocks the vault, relative to this file. Default: `vault.key` in `state.path`.',
            }),
          ),
          audit_retention: optional(
            field.durationOrZero('How long the records of the audit trail are kept; `0` keeps all. Default: `90d`.'),
          ),
          audit_export: optional(
            field.text({
              expected: 'the path of a directory',
              description:
                'The directory that records of the audit trail are written to before they are pruned; what cannot be written is kept. Default: none, so they are pruned without being written.',
            }),
          ),
        },
        'The store of secrets.',
      ),
    ),
  },
  'The configuration of headgate.',
  { definitions: pipelineDefinitions },
);
