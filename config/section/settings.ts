// The JSON Schema of a configuration file, after interpolation and merging.
//
// A reload puts a changed key into force at once, unless the key is wrapped in `field.restart`: then it waits for the next start.
import { sandboxKinds } from '../../runtime/host/sandbox.ts';
import { Type } from '../../runtime/schema-type.ts';
import { logLevels, servers } from '../config.ts';
import * as field from './field.ts';
import { scopes } from './scope.ts';

const { optional } = field;

const service = field.closedMap(
  {
    name: optional(
      field.text({
        expected: 'a text that is not empty',
        description: 'The name of the service; log lines have the name it had at its start.',
      }),
    ),
    log_level: optional(field.oneOf(logLevels, 'What is logged.')),
    strict_mode: optional(field.flag('Refuse to start when the seal is broken.')),
    max_workers: optional(
      field.restart('service.workersMax', field.count(1, 'Plugin threads; default: the processor count.', 1024)),
    ),
    max_queue_depth: optional(field.count(1, 'Open jobs, but for those of max_waiting, past which new work gets 503.')),
    max_waiting: optional(
      field.count(
        1,
        'Jobs that are held or wait for their next attempt, past which new work that may wait too gets 503.',
      ),
    ),
    max_jobs_per_root: optional(field.count(1, 'How many descendants a root may have; the next one is dead.')),
    plugin_env_passthrough: optional(
      // Plugin hosts keep the environment that they were started with.
      field.restart(
        'service.pluginEnvPassthrough',
        field.listOf(
          field.text({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$', expected: 'the name of an environment variable' }),
          'Names of environment variables that plugins may see.',
        ),
      ),
    ),
  },
  'The service as a whole.',
);

const retention = field.closedMap(
  {
    jobs: optional(field.duration('How long settled jobs are kept.')),
    max_jobs: optional(field.count(1, 'How many settled jobs are kept.')),
    held: optional(field.duration('How long jobs are held whose plugin cannot run; then they fail.')),
  },
  'How long settled jobs are kept, and held ones wait.',
);

const state = field.closedMap(
  {
    path: optional(
      field.restart(
        'state.path',
        field.text({ expected: 'the path of a directory', description: 'The directory of the store.' }),
      ),
    ),
    retention: optional(retention),
  },
  'Where jobs live, and for how long.',
);

const apiToken = field.closedMap(
  {
    name: optional(field.text({ expected: 'a text that is not empty', description: 'The name of the token in logs.' })),
    token: field.secretText({
      // What can stand behind `Bearer`.
      pattern: '^[!-~]+$',
      expected: 'the text of the token, in visible ASCII characters',
      description: 'What clients send.',
    }),
    scopes: field.listOf(field.oneOf(scopes, 'A scope.'), 'What the token may do.'),
    expires_at: optional(
      field.text({
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$',
        expected: 'a time such as 2027-01-01T00:00:00Z',
        description: 'From when on the token is refused.',
      }),
    ),
  },
  'A bearer token of the API.',
);

/** Of the listener of a section. */
const protection = (section: 'api' | 'webhooks') => {
  const pem = { expected: 'the path of a PEM file' };
  const tls = field.closedMap(
    {
      cert: field.text({
        ...pem,
        description: 'The certificate of the service, then its chain; relative to this file.',
      }),
      key: field.text({ ...pem, description: 'The private key of the certificate, without a passphrase.' }),
    },
    'The listener speaks HTTPS. Certificate and key are read again by a reload, and once a minute.',
  );
  return {
    tls: optional(field.restartToSwitch(`${section}.tls`, tls)),
    behind_proxy: optional(
      field.flag('A proxy with TLS stands in front: the doctor then accepts an address that others can reach.'),
    ),
  };
};

const api = field.closedMap(
  {
    enabled: optional(field.restart('api.enabled', field.flag('Whether the API listens at all.'))),
    server: optional(
      field.restart(
        'api.server',
        field.oneOf(servers, 'What serves HTTP, on both listeners; auto: uws where it can be loaded, else node.'),
      ),
    ),
    listen: optional(field.restart('api.listen', field.listen('Where the API listens.'))),
    ...protection('api'),
    max_body_size: optional(field.size('The largest request body.')),
    auth: optional(field.closedMap({ tokens: optional(field.listOf(apiToken, 'The tokens.')) }, 'Who may call.')),
  },
  'The HTTP API.',
);

/** The server takes no header whose name has other signs (docs/http.md). */
const headerName = (description: string) =>
  field.text({ pattern: '^[A-Za-z0-9-]+$', expected: 'the name of a header: letters, digits and "-"', description });

const endpoint = field.closedMap(
  {
    name: field.text({
      pattern: '^[A-Za-z0-9_.-]{1,128}$',
      expected: 'a name of letters, digits, "_", "-" and "."',
      description: 'The name of the endpoint.',
    }),
    path: field.text({
      pattern: '^/webhook/[A-Za-z0-9._~/-]+$',
      expected: 'a path such as /webhook/github: it begins with /webhook/ and has no query',
      description: 'Where it is served.',
    }),
    plugin: field.name('The plugin whose handle command gets the webhook.'),
    secret_ref: field.text({ expected: 'the name of an entry of "tokens"', description: 'The key of the signature.' }),
    signature_header: optional(headerName('The header with the signature.')),
    max_body_size: optional(field.size('The largest body.')),
    scheme: optional(field.oneOf(['standard-webhooks'], 'Fixed headers and whsec_ keys of Standard Webhooks.')),
    timestamp_header: optional(headerName('The header with the Unix seconds that are signed too.')),
    tolerance: optional(field.duration('How far the timestamp may be off, both ways; default 5m.')),
    id_header: optional(headerName('The header with the id by which repeats are known.')),
    big_integers: optional(
      field.oneOf(['refuse', 'text'], 'Integers beyond ±(2^53 − 1): 400 (refuse, the default), or read as text.'),
    ),
  },
  'A signed inbound webhook.',
);

const webhooks = field.closedMap(
  {
    listen: optional(field.restart('webhooks.listen', field.listen('Where webhooks are received.'))),
    ...protection('webhooks'),
    endpoints: optional(field.listOf(endpoint, 'The endpoints.')),
  },
  'Inbound webhooks.',
);

const token = field.closedMap(
  {
    name: field.text({ expected: 'a text that is not empty', description: 'What secret_ref says.' }),
    key: field.secretText({ expected: 'the text of the key', description: 'The HMAC key.' }),
  },
  'A key for webhook signatures.',
);

const instance = field.closedMap(
  {
    enabled: optional(field.flag('false: the plugin is absent.')),
    uses: optional(field.name('The plugin, or instance, that this is another instance of.')),
    config: optional(field.freeMap('What the plugin gets as its config.')),
    parallelism: optional(field.count(1, 'At most so many jobs of it run at once.', 100_000)),
    sandbox: optional(
      field.oneOf(sandboxKinds, 'Process plugins: what it runs in; default what its manifest asks for.'),
    ),
    limits: optional(
      field.closedMap(
        {
          memory: optional(field.size('Addresses of a process; default 2GB.')),
          cpu: optional(field.duration('Processor time of a process, in whole seconds; default 1h.')),
          file_size: optional(field.size('The largest file that it may write; default 1GB.')),
          open_files: optional(field.count(16, 'Open files of a process; default 1024.', 1_000_000)),
          processes: optional(field.count(1, 'Processes of the whole user; default: no limit.', 1_000_000)),
        },
        'Of a sandbox.',
      ),
    ),
    timeouts: optional(field.mapOf(field.duration('The deadline of an attempt.'), 'Deadlines by command.')),
    retry: optional(
      field.closedMap(
        {
          max_attempts: optional(field.count(1, 'Attempts in all; 1 switches retries off.', 1000)),
          backoff_base: optional(field.duration('The first delay.')),
          backoff_max: optional(field.duration('The longest delay.')),
        },
        'When failed jobs run again.',
      ),
    ),
  },
  'An instance of a plugin.',
);

export const settingsSchema = field.closedMap(
  {
    include: optional(
      field.listOf(
        field.text({ expected: 'the path of a file or directory' }),
        'More files, or directories of *.yaml, relative to this one.',
      ),
    ),
    service: optional(service),
    state: optional(state),
    api: optional(api),
    webhooks: optional(webhooks),
    tokens: optional(field.listOf(token, 'Keys that secret_ref names.')),
    plugin_roots: optional(
      field.listOf(
        field.text({
          pattern: '^(?!headgate:)|^headgate:bundled$',
          expected: 'the path of a directory, or headgate:bundled',
        }),
        'Directories that are searched for plugins; headgate:bundled is that of the plugins that come with headgate.',
      ),
    ),
    plugins: optional(field.mapOf(instance, 'Instances by name.', field.nameRule)),
    pipelines: optional(Type.Array(Type.Unknown(), { expected: 'a list of pipelines', description: 'The pipelines.' })),
    vault: optional(
      field.closedMap(
        {
          key_file: optional(field.text({ expected: 'the path of a file', description: 'The unlock key.' })),
          audit_retention: optional(
            field.durationOrZero('How long records of the audit trail are kept; default 90d, and 0 keeps all.'),
          ),
          audit_export: optional(
            field.text({
              expected: 'the path of a directory',
              description:
                'Where records of the audit trail are written before they are pruned; what cannot be written is kept.',
            }),
          ),
        },
        'The secret store.',
      ),
    ),
  },
  'The configuration of headgate.',
);
