// A configuration for a test, written into a directory: plugins from their sources, everything else as data.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Data = { readonly [key: string]: unknown };

/** A worker plugin's source, or any plugin with more of its manifest. */
export type PluginSource = string | ({ readonly code: string; readonly entrypoint?: string } & Data);

export type Settings = {
  readonly plugins?: { readonly [name: string]: PluginSource };
  /** What the configuration says of plugins and instances. */
  readonly instances?: { readonly [name: string]: Data };
  readonly pipelines?: readonly Data[];
  readonly service?: Data;
  readonly state?: Data;
  readonly api?: Data;
};

export const everythingToken = 'test-token-for-everything';

/** Replaces the configuration in the directory. JSON is YAML. */
export function writeConfiguration(directory: string, settings: Settings): void {
  const { plugins = {}, instances = {}, pipelines = [], service, state, api } = settings;
  const root = join(directory, 'plugins');
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  for (const [name, source] of Object.entries(plugins)) writePlugin(join(root, name), name, source);
  const document = {
    service: { log_level: 'debug', max_workers: 2, ...service },
    state: { path: './data', ...state },
    api: { listen: '127.0.0.1:0', auth: { tokens: [{ name: 'test', token: everythingToken, scopes: ['*'] }] }, ...api },
    plugins: instances,
    pipelines,
  };
  writeFileSync(join(directory, 'config.yaml'), JSON.stringify(document, null, 2));
}

function writePlugin(directory: string, name: string, source: PluginSource): void {
  const { code, entrypoint = 'index.mjs', ...more } = typeof source === 'string' ? { code: source } : source;
  const named: Data = (more['commands'] as Data | undefined) ?? {};
  const found = [...code.matchAll(/^ *export (?:async )?(?:function|const) (\w+)/gm)].map(match => match[1]!);
  const names = [...new Set([...found, ...Object.keys(named)])];
  const commands = names.map(command => ({ name: command, type: 'write', ...(named[command] as Data | undefined) }));
  const manifest = { manifest_spec: 'headgate.plugin', manifest_version: 1, name, version: '1.0.0', protocol: 2 };
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'manifest.yaml'), JSON.stringify({ ...manifest, entrypoint, ...more, commands }));
  writeFileSync(join(directory, entrypoint), code, { mode: 0o755 });
}
