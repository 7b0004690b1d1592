// The unlock key: 32 bytes in a file for its owner alone, or in the environment. It is never in the store.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Reader } from '../../runtime/store/store.ts';
import { keyBytes } from './records/barrier.ts';
import { readWrapped, unwrapKeyring } from './records/keyring.ts';

export const keyVariable = 'HEADGATE_VAULT_KEY';

/** Where the key comes from: the variable, where it is set, else the file. */
export type KeySource = { readonly file: string; readonly variable: string | undefined };

/** What a vault is opened with. */
export type Unlock = {
  /** The key, or why there is none. */
  readonly key: Uint8Array | string;
  /** The key file, where it exists: whoever has one has had a vault. */
  readonly file: string | null;
};

export function readUnlock(source: KeySource): Unlock {
  return { key: readUnlockKey(source), file: existsSync(source.file) ? source.file : null };
}

/** The mode of the key file, where the key comes from it and users other than the owner can use it; else null. */
export function looseModeOf({ file, variable }: KeySource): string | null {
  const mode = variable === undefined ? (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) : 0;
  return (mode & 0o077) === 0 ? null : (mode & 0o777).toString(8).padStart(4, '0');
}

/** How an operator ends that a vault is sealed. */
export function remedyOf({ file, variable }: KeySource): string {
  const right =
    variable === undefined ? `put the right unlock key into ${file}` : `set ${keyVariable} to the right key`;
  const again = variable === undefined ? 'and reload or restart' : 'and restart';
  return `jobs wait for it, uncharged: ${right} ${again}; where key or records are lost, stop the service and run "headgate vault abandon"`;
}

/** How an operator ends that single records do not open. */
export const damageRemedy =
  'set these secrets again with value and grants, register these principals again, or put the whole state back from a backup';

/** The key, or why there is none. A file never read as text, never trimmed: it holds the raw bytes. */
export function readUnlockKey({ file, variable }: KeySource): Buffer | string {
  if (variable !== undefined) return parseKey(variable) ?? `${keyVariable} must be ${keyBytes} bytes as hex or base64`;
  try {
    const key = readFileSync(file);
    return key.length === keyBytes ? key : `${file} must hold ${keyBytes} raw bytes; it has ${key.length}`;
  } catch (error) {
    return `the unlock key cannot be read: ${(error as Error).message}`;
  }
}

function parseKey(text: string): Buffer | null {
  const trimmed = text.trim();
  if (/^[\da-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex');
  const bytes = /^[\w+/-]{43}=?$/.test(trimmed) ? Buffer.from(trimmed, 'base64') : null;
  return bytes?.length === keyBytes ? bytes : null;
}

/** A new key waits beside the one in force until the keyring is under it. */
export function nextKeyFile(file: string): string {
  return `${file}.next`;
}

/** Durable when it returns. */
export function writeNextKey(file: string, key: Uint8Array): void {
  const next = nextKeyFile(file);
  rmSync(next, { force: true });
  const handle = openSync(next, 'wx', 0o600);
  try {
    writeSync(handle, key);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  syncDirectory(file);
}

/** The waiting key is in force: it takes the place of the one before. */
export function takeNextKey(file: string): void {
  renameSync(nextKeyFile(file), file);
  syncDirectory(file);
}

/** The names in the directory of the file are on disk. */
export function syncDirectory(file: string): void {
  const handle = openSync(dirname(file), 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** After a crash while keys were changed: the one that opens the keyring is the one to keep. For whoever holds the store. */
export function settleKeys(reader: Reader, { file, variable }: KeySource): void {
  if (variable !== undefined) return;
  const wrapped = readWrapped(reader);
  const next = readUnlockKey({ file: nextKeyFile(file), variable: undefined });
  if (!wrapped || typeof next === 'string') return;
  if (unwrapKeyring(next, wrapped)) takeNextKey(file);
  else {
    const current = readUnlockKey({ file, variable });
    // What opens nothing is removed only where the other is seen to open it.
    if (typeof current !== 'string' && unwrapKeyring(current, wrapped)) rmSync(nextKeyFile(file), { force: true });
  }
}
