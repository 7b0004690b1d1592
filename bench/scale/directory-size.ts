// The disk space of a directory, by allocated blocks, because the store's files are sparse.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const blockBytes = 512;

/** In MB of 1,000,000 bytes. */
export function sizeMb(directory: string): number {
  const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return entries.reduce((sum, name) => sum + statSync(join(directory, name)).blocks * blockBytes, 0) / 1e6;
}
