// The plugins that come with headgate: their directory, and the name by which `plugin_roots` includes them.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export const bundledRoot = 'headgate:bundled';

/**
 * The directory of the bundled plugins. It is found by the name of the package, so that the sources and dist/ give the
 * same result.
 */
export function bundledDirectory(): string {
  return join(dirname(createRequire(import.meta.url).resolve('headgate/package.json')), 'plugins');
}
