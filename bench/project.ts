// Where the project's files are, seen from the sources and from what they compile to.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = findRoot(dirname(fileURLToPath(import.meta.url)));

/** The command as users run it. */
export const commandFile = join(root, 'dist/cli/main.js');
export const loadFile = join(root, 'dist/bench/load/main.js');
/** Code that the threads of a profiled service load first. */
export const preloadFile = join(root, 'dist/bench/profile/preload.js');
export const projectRoot = root;
export const pluginRoot = join(root, 'bench/plugins');

function findRoot(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory;
  const parent = dirname(directory);
  if (parent === directory) throw new Error('there is no package.json above the bench');
  return findRoot(parent);
}
