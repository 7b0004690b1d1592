// Writes new files, and never over others.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { usageFailure } from '../failure.ts';

export type NewFile = {
  /** Relative, with `/`. */
  readonly path: string;
  readonly text: string;
  /** 0644 when it is not said. */
  readonly mode?: number;
};

/**
 * The directory and those above it. One at a time: where the system allows none, as below /proc, `recursive` never returns. Throws
 * the error of the system.
 */
export function makeDirectories(path: string): void {
  if (existsSync(path)) return;
  makeDirectories(dirname(path));
  mkdirSync(path);
}

/** The directory is made; it must not hold anything yet. Throws system errors. */
export function writeFiles(directory: string, files: readonly NewFile[]): void {
  makeDirectories(directory);
  if (readdirSync(directory).length > 0) throw usageFailure(`${directory} is not empty; name a new directory`);
  for (const { path, text, mode = 0o644 } of files) {
    const file = join(directory, path);
    makeDirectories(dirname(file));
    writeFileSync(file, text, { mode, flag: 'wx' });
  }
}
