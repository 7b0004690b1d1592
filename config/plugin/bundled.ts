// The plugins that come with headgate: their directory, and the name by which `plugin_roots` includes them.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export const bundledRoot = 'headgate:bundled';

/** Resolved by the name of the package, so that sources and dist/ find the same directory. */
export function bundledDirectory(): string {
  return join(dirname(createRequire(import.meta.url).resolve('headgate/package.json')), 'plugins');
}
