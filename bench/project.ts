// Paths of the project's files, valid for the sources and for the compiled code.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = findRoot(dirname(fileURLToPath(import.meta.url)));

export const loadFile = join(root, 'dist/bench/load/main.js');
export const bareGatewayFile = join(root, 'dist/bench/bare/gateway.js');
/** The module that each thread of a profiled service loads first. */
export const preloadFile = join(root, 'dist/bench/profile/preload.js');
export const projectRoot = root;
export const pluginRoot = join(root, 'bench/plugins');
/** The record of changes for speed, with figures before and after. */
export const baselineFile = join(root, 'bench/baseline.jsonl');

/** The file of the headgate command in a built checkout. */
export function commandIn(checkout: string): string {
  return join(checkout, 'dist/cli/main.js');
}

function findRoot(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory;
  const parent = dirname(directory);
  if (parent === directory) throw new Error('there is no package.json above the bench');
  return findRoot(parent);
}
