// The disk as configuration sees it: a port, so that tests, and a check of seals, can stand in between.
import { accessSync, constants, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { sep } from 'node:path';

export type EntryKind = 'file' | 'directory' | 'missing' | 'other';

/** Every function but `kind` and `isExecutable` throws the error of the system when the disk says no. */
export type Files = {
  /** All bytes of a file. Each file is read exactly once in a load. */
  readonly read: (path: string) => Uint8Array;
  /** The names in a directory, sorted. */
  readonly list: (directory: string) => readonly string[];
  /** What a path leads to, links followed. */
  readonly kind: (path: string) => EntryKind;
  /** The path with all links resolved. */
  readonly realpath: (path: string) => string;
  readonly isExecutable: (path: string) => boolean;
  /** The permission bits of what a path leads to, links followed. */
  readonly mode: (path: string) => number;
};

export const diskFiles: Files = {
  read: path => readFileSync(path),
  list: directory => readdirSync(directory).sort(),
  kind: path => {
    try {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat === undefined) return 'missing';
      return stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : 'other';
    } catch {
      return 'missing';
    }
  },
  realpath: path => realpathSync(path),
  isExecutable: path => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  },
  mode: path => statSync(path).mode & 0o7777,
};

/** The files, with the bytes of each that is read kept in `bytes`, under the path that it was read by. */
export function keepingBytes(disk: Files, bytes: Map<string, Uint8Array>): Files {
  return {
    ...disk,
    read: path => {
      const read = disk.read(path);
      bytes.set(path, read);
      return read;
    },
  };
}

/** Whether the path lies in the directory, both absolute, by name alone. */
export function isWithin(path: string, directory: string): boolean {
  return path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

/** Why the disk said no, in a few words: the error's code, else its message. */
export function diskReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
