// Small files that must be whole on disk after any crash: written aside, flushed, and put in place in one step. And directories.
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Replaces the file, or makes it. Whoever reads it sees the old bytes or the new ones. Throws the error of the system. */
export function replaceFile(path: string, bytes: Uint8Array, mode: number): void {
  writeAside(path, bytes, mode, aside => renameSync(aside, path));
}

/** Makes the file; false when there is one already, which stays as it is. Throws the error of the system. */
export function createFile(path: string, bytes: Uint8Array, mode: number): boolean {
  try {
    writeAside(path, bytes, mode, aside => linkSync(aside, path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function writeAside(path: string, bytes: Uint8Array, mode: number, put: (aside: string) => void): void {
  const directory = dirname(path);
  const start = `.${basename(path)}.new-`;
  // What a crash has left behind; of two writers at once one finds its file gone, and says so.
  for (const name of readdirSync(directory)) if (name.startsWith(start)) rmSync(join(directory, name), { force: true });
  const aside = join(directory, start + randomBytes(6).toString('hex'));
  try {
    const file = openSync(aside, 'wx', mode);
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    put(aside);
  } finally {
    rmSync(aside, { force: true });
  }
  syncDirectory(directory);
}

/** Makes the directory, and those above it, where they are missing: their names are on disk when it returns. */
export function makeDirectory(path: string, mode: number): void {
  const first = mkdirSync(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = resolve(path); made.length >= first.length; made = dirname(made)) syncDirectory(dirname(made));
}

/** Flushes the names in the directory to disk. */
export function syncDirectory(path: string): void {
  const entries = openSync(path, 'r');
  try {
    fsyncSync(entries);
  } finally {
    closeSync(entries);
  }
}
