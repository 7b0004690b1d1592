// The installed version of a peer's package.
import { readFileSync } from 'node:fs';

/** The name and the version of an installed package. `dist/` lies beside `node_modules/`. */
export function installed(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${(JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version}`;
}
