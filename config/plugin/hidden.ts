// Paths that a plugin in bubblewrap never sees, wherever they lie: the state, the configuration, and the keys.
import { dirname } from 'node:path';
import type { Config, PluginInstance } from '../config.ts';

/** The plugins, each that runs in bubblewrap with the paths that it must not see. `sealKey`: null where nothing says where it is. */
export function withHidden(config: Config, sealKey: string | null): Config['plugins'] {
  const { files, mainFile, state, vault, api, webhooks } = config;
  const directories = [state.path, ...new Set([mainFile, ...files].map(dirname))];
  const known = [vault.keyFile, sealKey, api.tls?.key, webhooks.tls?.key];
  const keys = [...new Set(known.filter(key => typeof key === 'string'))];
  // Files too: a directory of the configuration may be one that the plugin needs.
  const hidden = [...directories, ...files, ...keys];
  const hide = (plugin: PluginInstance): PluginInstance =>
    plugin.sandbox?.kind === 'bwrap' ? { ...plugin, sandbox: { ...plugin.sandbox, hidden } } : plugin;
  return Object.fromEntries(Object.entries(config.plugins).map(([name, plugin]) => [name, hide(plugin)]));
}
