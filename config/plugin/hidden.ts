// Paths that are hidden from plugins in bubblewrap: the state, the backups, the exported audit trail, the configuration files with their
// directories, and the keys.
import { dirname } from 'node:path';
import type { Config, PluginInstance } from '../config.ts';
import { nextKeyFile } from '../key-file.ts';

/** The plugins of the configuration, with these paths hidden. `sealKey`: the path of the seal key; null if the path is unknown. */
export function withHidden(config: Config, sealKey: string | null): Config['plugins'] {
  const { files, mainFile, state, backups, vault, api, webhooks } = config;
  const exported = vault.auditExport === null ? [] : [vault.auditExport];
  const directories = [state.path, backups.into, ...exported, ...[mainFile, ...files].map(dirname)];
  const known = [vault.keyFile, nextKeyFile(vault.keyFile), sealKey, api.tls?.key, webhooks.tls?.key];
  const keys = known.filter(key => typeof key === 'string');
  // The directories of the keys are not added, because the plugin may need other files in them.
  const paths = [...directories, ...files, ...keys];
  const hide = (plugin: PluginInstance): PluginInstance => {
    if (plugin.sandbox?.kind !== 'bwrap') return plugin;
    const hidden = [...new Set([...(plugin.sandbox.hidden ?? []), ...paths])];
    return { ...plugin, sandbox: { ...plugin.sandbox, hidden } };
  };
  return Object.fromEntries(Object.entries(config.plugins).map(([name, plugin]) => [name, hide(plugin)]));
}
