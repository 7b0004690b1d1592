// A configuration for a test, written into a directory: plugins from their sources, everything else as data.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canary, watch } from '../canary/canary.ts';

type Data = { readonly [key: string]: unknown };

/** The source of a worker plugin, or the code of any plugin with further keys of its manifest. */
export type PluginSource = string | ({ readonly code: string; readonly entrypoint?: string } & Data);

export type Settings = {
  readonly plugins?: { readonly [name: string]: PluginSource };
  /** Plugin roots besides that of `plugins`. */
  readonly roots?: readonly string[];
  /** The section `plugins` of the configuration, which also has the instances. */
  readonly instances?: { readonly [name: string]: Data };
  readonly pipelines?: readonly Data[];
  readonly schedules?: readonly Data[];
  readonly service?: Data;
  readonly log?: Data;
  readonly state?: Data;
  readonly api?: Data;
  readonly webhooks?: Data;
  readonly metrics?: Data;
  readonly ui?: Data;
  readonly tokens?: readonly Data[];
  readonly vault?: Data;
  readonly backups?: Data;
};

export const everythingToken = canary('token for everything');

/** Replaces the configuration in the directory. JSON is YAML. */
export function writeConfiguration(directory: string, settings: Settings): void {
  const {
    plugins = {},
    roots = [],
    instances = {},
    pipelines = [],
    schedules = [],
    service,
    log,
    state,
    api,
    webhooks,
    metrics,
    ui,
    tokens = [],
    vault = {},
    backups,
  } = settings;
  watchSecrets(settings);
  const root = join(directory, 'plugins');
  mkdirSync(root, { recursive: true });
  for (const name of readdirSync(root))
    if (!Object.hasOwn(plugins, name)) rmSync(join(root, name), { recursive: true, force: true });
  for (const [name, source] of Object.entries(plugins)) writePlugin(join(root, name), name, source);
  const document = {
    service: { log_level: 'debug', max_workers: 2, ...service },
    ...(log && { log }),
    state: { path: './data', ...state },
    api: {
      ...{ listen: '127.0.0.1:0', server: process.env['TEST_SERVER'] ?? 'uws' },
      ...{ auth: { tokens: [{ name: 'test', token: everythingToken, scopes: ['*'] }] } },
      ...api,
    },
    webhooks: { listen: '127.0.0.1:0', ...webhooks },
    ...(metrics && { metrics }),
    ...(ui && { ui }),
    ...(backups && { backups }),
    tokens,
    vault,
    plugin_roots: ['./plugins', ...roots],
    plugins: instances,
    pipelines,
    ...(schedules.length > 0 && { schedules }),
  };
  writeFileSync(join(directory, 'config.yaml'), JSON.stringify(document, null, 2));
}

/** Makes sweeps look for the tokens and keys of the configuration, which may appear nowhere else. */
function watchSecrets({ api, tokens = [] }: Settings): void {
  watch('token for everything', everythingToken);
  const auth = api?.['auth'] as { readonly tokens?: readonly Data[] } | undefined;
  for (const { name, token } of auth?.tokens ?? []) watch(`the API token ${name}`, String(token));
  for (const { name, key } of tokens) watch(`the webhook key ${name}`, String(key));
}

function writePlugin(directory: string, name: string, source: PluginSource): void {
  const { code, entrypoint = 'index.mjs', ...more } = typeof source === 'string' ? { code: source } : source;
  const named: Data = (more['commands'] as Data | undefined) ?? {};
  const found = [...code.matchAll(/^ *export (?:async )?(?:function|const) (\w+)/gm)].map(match => match[1]!);
  const names = [...new Set([...found, ...Object.keys(named)])];
  const commands = names.map(command => ({ name: command, type: 'write', ...(named[command] as Data | undefined) }));
  const manifest = { manifest_spec: 'headgate.plugin', manifest_version: 1, name, version: '1.0.0', protocol: 2 };
  mkdirSync(directory, { recursive: true });
  put(join(directory, 'manifest.yaml'), JSON.stringify({ ...manifest, entrypoint, ...more, commands }));
  put(join(directory, entrypoint), code);
}

/** Replaces the file in one step, so that no reader sees half of it; a file with the same content is not touched. */
function put(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  writeFileSync(`${path}.new`, text, { mode: 0o755 });
  renameSync(`${path}.new`, path);
}
