// The plugins that come with headgate: where they lie, and how `plugin_roots` asks for them.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export const bundledRoot = 'headgate:bundled';

/** By the package's own name: the same from the sources and from dist/. */
export function bundledDirectory(): string {
  return join(dirname(createRequire(import.meta.url).resolve('headgate/package.json')), 'plugins');
}
