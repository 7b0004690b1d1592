// Merges a reloaded configuration with the running one. Settings that need a restart keep their value until the next
// start.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';
import { withHidden } from './plugin/hidden.ts';
import { restartSettings } from './section/restart.ts';
import { defaultKeyFile } from './section/service.ts';

export type ReloadComparison = {
  /** The keys of settings that changed and need a restart; or of a section that is kept as a whole. */
  readonly kept: readonly string[];
  /** The new configuration, with the old values of the settings in `kept`. */
  readonly config: Config;
};

type Sections = { [section: string]: { [property: string]: unknown } };

export function compareForReload(old: Config, next: Config): ReloadComparison {
  const before = old as unknown as Sections;
  const merged = { ...next } as unknown as Sections;
  const kept: string[] = [];
  for (const { key, setting, isSwitch } of restartSettings) {
    const [section, property] = setting.split('.') as [string, string];
    const value = before[section]?.[property];
    const next = merged[section]?.[property];
    const isSame = isSwitch ? (value === undefined) === (next === undefined) : isDeepStrictEqual(value, next);
    if (isSame) continue;
    kept.push(key);
    const { [property]: _, ...others } = merged[section]!;
    merged[section] = Object.freeze(value === undefined ? others : { ...others, [property]: value });
  }
  // The log is kept from the oldest scheduled backup on. Without a schedule it would grow without end, in a directory that the new
  // configuration may not name; `readBackups` refuses such a section. So the old section stays as a whole.
  if (kept.includes('backups.log') && old.backups.log && next.backups.everyMs === null) {
    merged['backups'] = before['backups']!;
    kept[kept.indexOf('backups.log')] = 'backups';
  }
  const config = merged as unknown as Config;
  if (kept.length === 0) return { kept, config: Object.freeze(config) };
  // By default the vault's key file is in the state directory. A change of the state directory needs a restart, so the default
  // key file stays as well.
  const isDefault = next.vault.keyFile === defaultKeyFile(next.state.path);
  const vault = isDefault ? Object.freeze({ ...next.vault, keyFile: defaultKeyFile(config.state.path) }) : next.vault;
  const inForce = { ...config, vault };
  // Adds the old paths that stay in use to the hidden paths. The paths of the new configuration are already hidden from its plugins.
  return { kept, config: Object.freeze({ ...inForce, plugins: Object.freeze(withHidden(inForce, null)) }) };
}
