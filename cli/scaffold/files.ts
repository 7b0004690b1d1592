// Creates files, and never overwrites a file.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { usageFailure } from '../failure.ts';

export type NewFile = {
  /** The path below the new directory, with `/` between its parts. */
  readonly path: string;
  readonly text: string;
  /** The permissions of the file, before the umask is applied; 0644 by default. */
  readonly mode?: number;
};

/**
 * Creates the directory and its missing parents, one at a time. With `recursive`, mkdir never returns where no
 * directory can be created, such as below /proc. Throws system errors.
 */
function makeDirectories(path: string): void {
  if (existsSync(path)) return;
  makeDirectories(dirname(path));
  mkdirSync(path);
}

/**
 * Creates the files in this directory, which is created if necessary. Throws system errors, and a usage failure if the directory
 * is not empty.
 */
export function writeFiles(directory: string, files: readonly NewFile[]): void {
  makeDirectories(directory);
  if (readdirSync(directory).length > 0) throw usageFailure(`${directory} is not empty; name a new directory`);
  for (const { path, text, mode = 0o644 } of files) {
    const file = join(directory, path);
    makeDirectories(dirname(file));
    writeFileSync(file, text, { mode, flag: 'wx' });
  }
}
