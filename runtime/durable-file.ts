// Writes small files atomically: each is written under another name, flushed, and renamed or linked. A crash leaves either the new file, or
// what was there before. Also creates directories that survive a crash.
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
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/** Replaces or creates the file. Readers see either the old or the new contents. Throws the errors of the file system. */
export function replaceFile(path: string, bytes: Uint8Array, mode: number): void {
  writeAside(path, bytes, mode, aside => renameSync(aside, path));
}

/** Creates the file. Returns false if it exists already. Throws the errors of the file system. */
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
  // Removes what interrupted writes have left behind. If two processes write the same file at once, one may remove the new file of the
  // other, whose write then fails.
  for (const name of readdirSync(directory)) if (name.startsWith(start)) rmSync(join(directory, name), { force: true });
  const aside = join(directory, start + randomBytes(6).toString('hex'));
  try {
    writeSynced(aside, bytes, mode);
    put(aside);
  } finally {
    rmSync(aside, { force: true });
  }
  syncDirectory(directory);
}

/** Writes a new file and flushes it. Throws the errors of the file system. */
export function writeSynced(path: string, bytes: Uint8Array, mode: number): void {
  const write = (file: number) => {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  };
  withFile(path, 'wx', write, mode);
}

/** Creates the directory and its missing parents, and flushes the directory entry of each to disk. */
export function makeDirectory(path: string, mode: number): void {
  const whole = resolve(path);
  const first = mkdirSync(whole, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = whole; made.length >= first.length; made = dirname(made)) syncDirectory(dirname(made));
}

export function syncDirectory(path: string): void {
  withFile(path, 'r', fsyncSync);
}

/** As `syncDirectory`, but a disk that hangs does not block the thread. */
export async function syncDirectoryAside(path: string): Promise<void> {
  const entries = await open(path, 'r');
  await entries.sync().finally(() => entries.close());
}

/** Calls `act` with the open file, and closes it. `mode`: of a file that is created. */
export function withFile<T>(path: string, flags: string | number, act: (file: number) => T, mode?: number): T {
  const file = openSync(path, flags, mode);
  try {
    return act(file);
  } finally {
    closeSync(file);
  }
}
