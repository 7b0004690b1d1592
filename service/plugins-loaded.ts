// What the event stream hears of the plugins, at the start and with each reload.
import type { Observations } from '../actors/hub/protocol.ts';
import type { Config } from '../config/config.ts';

/** One for each enabled instance. */
export function pluginsLoaded({ plugins }: Config): Observations[] {
  const atUs = Date.now() * 1000;
  return Object.values(plugins).map(({ name, manifest }) => {
    const fields = { plugin: name, version: manifest.version, runtime: manifest.runtime };
    return { kind: 'plain', type: 'plugin.loaded', atUs, fields };
  });
}
