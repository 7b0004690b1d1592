// The file system as the configuration uses it. It is an interface, so that tests can replace it, and so that the bytes
// that were read can be kept for the seal.
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { sep } from 'node:path';

/** `sha256` is in hex. */
export type FileDigest = { readonly size: number; readonly sha256: string };

export type EntryKind = 'file' | 'directory' | 'missing' | 'other';

/** All functions except `kind` and `isExecutable` throw system errors. */
export type Files = {
  /** Reads all bytes of a file. When the configuration is loaded, each configuration file and each manifest is read exactly once. */
  readonly read: (path: string) => Uint8Array;
  /** The first bytes of a file, at most `headBytesMax`. */
  readonly head: (path: string) => Uint8Array;
  /** Reads a file of any size in pieces, and keeps none of them. */
  readonly digest: (path: string) => FileDigest;
  /** The names in a directory, sorted. */
  readonly list: (directory: string) => readonly string[];
  /** The kind of the entry at a path; links are followed. `missing`: there is no entry, or the path cannot be reached. */
  readonly kind: (path: string) => EntryKind;
  readonly realpath: (path: string) => string;
  readonly isExecutable: (path: string) => boolean;
  /** The permission bits of the entry at a path; links are followed. */
  readonly mode: (path: string) => number;
};

const headBytesMax = 512;

export const diskFiles: Files = {
  read: path => readFileSync(path),
  head: path => {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(headBytesMax);
      return bytes.subarray(0, readSync(file, bytes));
    } finally {
      closeSync(file);
    }
  },
  digest: digestFile,
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
  realpath: path => realpathSync.native(path),
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

/** Holds one piece of a file at a time. `digestFile` never waits, so its calls can share it. */
const piece = Buffer.allocUnsafeSlow(2 ** 20);

function digestFile(path: string): FileDigest {
  const hash = createHash('sha256');
  let size = 0;
  const file = openSync(path, 'r');
  try {
    for (let bytes = readSync(file, piece); bytes > 0; bytes = readSync(file, piece)) {
      hash.update(piece.subarray(0, bytes));
      size += bytes;
    }
  } finally {
    closeSync(file);
  }
  return { size, sha256: hash.digest('hex') };
}

export function digestBytes(bytes: Uint8Array): FileDigest {
  return { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The same file system, whose `read` also stores the bytes in `bytes`, by path. */
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

/** Whether an absolute path is inside an absolute directory, by name; links are not resolved. */
export function isWithin(path: string, directory: string): boolean {
  return path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

/** A short reason for a file system error: its code, else its message. */
export function diskReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
