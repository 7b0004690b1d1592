// Paths that are hidden from plugins in bubblewrap: the state, the configuration files with their directories, and the keys.
import { dirname } from 'node:path';
import type { Config, PluginInstance } from '../config.ts';

/**
 * Sets the hidden paths of each bubblewrap sandbox of the configuration's plugins. `sealKey`: the path of the seal key;
 * null if the path is unknown.
 */
export function withHidden(config: Config, sealKey: string | null): Config['plugins'] {
  const { files, mainFile, state, vault, api, webhooks } = config;
  const directories = [state.path, ...new Set([mainFile, ...files].map(dirname))];
  const known = [vault.keyFile, sealKey, api.tls?.key, webhooks.tls?.key];
  const keys = [...new Set(known.filter(key => typeof key === 'string'))];
  // The directories of the keys are not added, because the plugin may need other files in them.
  const hidden = [...directories, ...files, ...keys];
  const hide = (plugin: PluginInstance): PluginInstance =>
    plugin.sandbox?.kind === 'bwrap' ? { ...plugin, sandbox: { ...plugin.sandbox, hidden } } : plugin;
  return Object.fromEntries(Object.entries(config.plugins).map(([name, plugin]) => [name, hide(plugin)]));
}
