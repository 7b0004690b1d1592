// Writes new files, and never over others.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { usageFailure } from '../failure.ts';

export type NewFile = {
  /** Relative, with `/`. */
  readonly path: string;
  readonly text: string;
  /** 0644 when it is not said. */
  readonly mode?: number;
};

/** The directory is made; it must not hold anything yet. Throws system errors. */
export function writeFiles(directory: string, files: readonly NewFile[]): void {
  mkdirSync(directory, { recursive: true });
  if (readdirSync(directory).length > 0) throw usageFailure(`${directory} is not empty; name a new directory`);
  for (const { path, text, mode = 0o644 } of files) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode, flag: 'wx' });
  }
}
