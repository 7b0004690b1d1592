// The settings whose old value a reload keeps until the next start. Of a section such as `api.tls`, a reload keeps only
// whether the section is set.
import type { SettingName } from '../config.ts';

export type RestartSetting = {
  /** The key in a configuration file. */
  readonly key: string;
  /** The name of the setting in `Config`. */
  readonly setting: SettingName;
  /** True: only adding or removing the key needs a restart; a changed value is live. */
  readonly isSwitch?: true;
};

/** All settings that need a restart, in the order of the schema. */
export const restartSettings: readonly RestartSetting[] = [
  { key: 'service.max_workers', setting: 'service.workersMax' },
  // Plugin hosts keep the environment that they were started with.
  { key: 'service.plugin_env_passthrough', setting: 'service.pluginEnvPassthrough' },
  { key: 'state.path', setting: 'state.path' },
  { key: 'state.log', setting: 'state.log' },
  { key: 'api.enabled', setting: 'api.enabled' },
  { key: 'api.server', setting: 'api.server' },
  { key: 'api.listen', setting: 'api.listen' },
  { key: 'api.tls', setting: 'api.tls', isSwitch: true },
  { key: 'webhooks.listen', setting: 'webhooks.listen' },
  { key: 'webhooks.tls', setting: 'webhooks.tls', isSwitch: true },
  { key: 'metrics.listen', setting: 'metrics.listen' },
  { key: 'ui.path', setting: 'ui.path' },
  { key: 'backups.log', setting: 'backups.log' },
];
