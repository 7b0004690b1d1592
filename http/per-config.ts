// Values that depend on the configuration alone: computed once per configuration, on first use.
import type { Config } from '../config/config.ts';

export function perConfig<T extends object>(make: (config: Config) => T): (config: Config) => T {
  const made = new WeakMap<Config, T>();
  return config => {
    const known = made.get(config);
    if (known) return known;
    const value = make(config);
    made.set(config, value);
    return value;
  };
}
