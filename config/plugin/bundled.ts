// The plugins that come with headgate: their directory, and the name by which `plugin_roots` includes them.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export const bundledRoot = 'headgate:bundled';

/** Finds the directory by the name of the package, which gives the same result for the sources and for dist/. */
export function bundledDirectory(): string {
  return join(dirname(createRequire(import.meta.url).resolve('headgate/package.json')), 'plugins');
}
