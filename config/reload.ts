// What a reload cannot change while the service runs: it stays as it is until the next start.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';
import { defaultKeyFile } from './section/service.ts';

export type Reloaded = {
  /** Names of the settings that changed and need a restart. */
  readonly kept: readonly string[];
  /** The new configuration with the old values of these. */
  readonly config: Config;
};

export function compareForReload(old: Config, next: Config): Reloaded {
  const kept: string[] = [];
  const keep = <T>(name: string, before: T, after: T): T => {
    if (isDeepStrictEqual(before, after)) return after;
    kept.push(name);
    return before;
  };
  const workersMax = keep('service.max_workers', old.service.workersMax, next.service.workersMax);
  const passed = [old.service.pluginEnvPassthrough, next.service.pluginEnvPassthrough] as const;
  // Hosts have the environment of their start.
  const pluginEnvPassthrough = keep('service.plugin_env_passthrough', ...passed);
  const isEnabled = keep('api.enabled', old.api.enabled, next.api.enabled);
  const apiListen = keep('api.listen', old.api.listen, next.api.listen);
  const hooksListen = keep('webhooks.listen', old.webhooks.listen, next.webhooks.listen);
  const statePath = keep('state.path', old.state.path, next.state.path);
  // The default key file lies in the state directory and stays with it.
  const isDefaultKey = next.vault.keyFile === defaultKeyFile(next.state.path);
  const keyFile = isDefaultKey ? defaultKeyFile(statePath) : next.vault.keyFile;
  const config: Config = Object.freeze({
    ...next,
    service: Object.freeze({ ...next.service, workersMax, pluginEnvPassthrough }),
    state: Object.freeze({ ...next.state, path: statePath }),
    api: Object.freeze({ ...next.api, enabled: isEnabled, listen: apiListen }),
    webhooks: Object.freeze({ ...next.webhooks, listen: hooksListen }),
    vault: Object.freeze({ ...next.vault, keyFile }),
  });
  return { kept, config };
}
