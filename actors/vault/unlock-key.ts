// The unlock key: 32 bytes in a file for its owner alone, or in the environment. It is never in the store.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Reader } from '../../runtime/store/store.ts';
import { keyBytes } from './barrier.ts';
import { readWrapped, unwrapKeyring } from './keyring.ts';

export const keyVariable = 'HEADGATE_VAULT_KEY';

/** Where the key comes from: the variable, where it is set, else the file. */
export type KeySource = { readonly file: string; readonly variable: string | undefined };

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

function syncDirectory(file: string): void {
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
