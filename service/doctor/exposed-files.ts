// Files of the state directory that users other than the owner can read or write.
import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const others = 0o077;
/** Permissions of a directory that let other users reach the files below it. */
const othersMayEnter = 0o011;
const othersMayWrite = 0o022;

/** Paths in the directory, sorted; also the directory itself, if others can replace its files. */
export function exposedFiles(directory: string): string[] {
  const { mode } = statSync(directory);
  const own = (mode & othersMayWrite) !== 0 ? [directory] : [];
  return (mode & othersMayEnter) === 0 ? own : [...own, ...entriesOf(directory).flatMap(exposedEntry)].sort();
}

function exposedEntry(entry: Dirent): string[] {
  const path = join(entry.parentPath, entry.name);
  try {
    if (entry.isDirectory()) return exposedFiles(path);
    return entry.isFile() && (statSync(path).mode & others) !== 0 ? [path] : [];
  } catch {
    // The file was removed meanwhile, as pid files are.
    return [];
  }
}

function entriesOf(directory: string): Dirent[] {
  return readdirSync(directory, { withFileTypes: true });
}
