// What a reload cannot change while the service runs: it stays as it is until the next start.
import type { Config, ListenAddress } from './config.ts';
import { defaultKeyFile } from './section/service.ts';

export type Reloaded = {
  /** Names of the settings that changed and need a restart. */
  readonly kept: readonly string[];
  /** The new configuration with the old values of these. */
  readonly config: Config;
};

export function compareForReload(old: Config, next: Config): Reloaded {
  const kept: string[] = [];
  const keep = <T>(name: string, before: T, after: T, isSame: boolean): T => {
    if (!isSame) kept.push(name);
    return isSame ? after : before;
  };
  const workers = [old.service.workersMax, next.service.workersMax] as const;
  const workersMax = keep('service.max_workers', ...workers, workers[0] === workers[1]);
  const passed = [old.service.pluginEnvPassthrough, next.service.pluginEnvPassthrough] as const;
  const isSamePassed = passed[0].length === passed[1].length && passed[0].every((name, i) => name === passed[1][i]);
  // Hosts have the environment of their start.
  const pluginEnvPassthrough = keep('service.plugin_env_passthrough', ...passed, isSamePassed);
  const isEnabled = keep('api.enabled', old.api.enabled, next.api.enabled, old.api.enabled === next.api.enabled);
  const apiListen = keep('api.listen', old.api.listen, next.api.listen, sameListen(old.api.listen, next.api.listen));
  const hooks = [old.webhooks.listen, next.webhooks.listen] as const;
  const hooksListen = keep('webhooks.listen', ...hooks, sameListen(...hooks));
  const statePath = keep('state.path', old.state.path, next.state.path, old.state.path === next.state.path);
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

function sameListen(a: ListenAddress, b: ListenAddress): boolean {
  return a.host === b.host && a.port === b.port;
}
