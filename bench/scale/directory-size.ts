// Measures the disk space of a directory.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const blockBytes = 512;

/**
 * The disk space of a directory in MB of 1,000,000 bytes. Allocated blocks are counted, because the store's files are
 * sparse.
 */
export function sizeMb(directory: string): number {
  const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return entries.reduce((sum, name) => sum + statSync(join(directory, name)).blocks * blockBytes, 0) / 1e6;
}
