// The plugins that come with headgate: their directory, and the name by which `plugin_roots` includes them.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export const bundledRoot = 'headgate:bundled';

/** The directory is found by the name of the package, so that it is the same for the sources and for dist/. */
export function bundledDirectory(): string {
  return join(dirname(createRequire(import.meta.url).resolve('headgate/package.json')), 'plugins');
}
