// Finds files of the state directory that users other than the owner can read, write or execute.
import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const others = 0o077;
/** The permissions of a directory that let other users reach the files in it. */
const othersMayEnter = 0o011;
const othersMayWrite = 0o022;

/**
 * The paths of the files that other users can read, write or execute, sorted. A directory that other users may write is included, too,
 * because they could replace its files.
 */
export function exposedFiles(directory: string): string[] {
  const { mode } = statSync(directory);
  const own = (mode & othersMayWrite) !== 0 ? [directory] : [];
  if ((mode & othersMayEnter) === 0) return own;
  const entries = readdirSync(directory, { withFileTypes: true });
  return [...own, ...entries.flatMap(entry => exposedEntry(directory, entry))].sort();
}

function exposedEntry(directory: string, entry: Dirent): string[] {
  const path = join(directory, entry.name);
  try {
    if (entry.isDirectory()) return exposedFiles(path);
    return entry.isFile() && (statSync(path).mode & others) !== 0 ? [path] : [];
  } catch {
    // The file has probably been removed in the meantime, which often happens to pid files.
    return [];
  }
}
