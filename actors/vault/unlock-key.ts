// The unlock key has 32 bytes. It is in a file, which only the file's owner should be able to read, or in an
// environment variable. The store never contains the key.
import { existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { nextKeyFile } from '../../config/key-file.ts';
import { replaceFile, syncDirectory } from '../../runtime/durable-file.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { keyBytes } from './records/barrier.ts';
import { readWrapped, unwrapKeyring } from './records/keyring.ts';

export const keyVariable = 'HEADGATE_VAULT_KEY';

/** The source of the key: the value of the environment variable `keyVariable` if it is set, otherwise the file. */
export type KeySource = { readonly file: string; readonly variable: string | undefined };

/** The input for opening a vault. */
export type Unlock = {
  /** The key, or why it cannot be read. */
  readonly key: Uint8Array | string;
  /** The path of the key file; null: the file does not exist. An existing key file shows that there is or was a vault. */
  readonly file: string | null;
};

export function readUnlock(source: KeySource): Unlock {
  return { key: readUnlockKey(source), file: existsSync(source.file) ? source.file : null };
}

/** The mode of the key file, such as `0644`, if the key comes from the file and other users can access the file. Otherwise null. */
export function looseModeOf({ file, variable }: KeySource): string | null {
  const mode = variable === undefined ? (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) : 0;
  return (mode & 0o077) === 0 ? null : (mode & 0o777).toString(8).padStart(4, '0');
}

/** The advice for the operator of a sealed vault. */
export function remedyOf({ file, variable }: KeySource): string {
  const right =
    variable === undefined ? `put the right unlock key into ${file}` : `set ${keyVariable} to the right key`;
  const again = variable === undefined ? 'and reload or restart' : 'and restart';
  return `jobs wait uncharged until the vault opens: ${right} ${again}; if the key or the records are lost, stop the service and run "headgate vault abandon"`;
}

/** The advice for the operator of a vault with single records that do not open. */
export const damageRemedy =
  'set these secrets again with value and grants, register these principals again, or restore the whole state from a backup';

/** The key, or why it cannot be read. A key file has raw bytes: it is neither decoded as text nor trimmed. */
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

export function writeNextKey(file: string, key: Uint8Array): void {
  replaceFile(nextKeyFile(file), key, 0o600);
}

/** Replaces the key file with the file of the new key. */
export function takeNextKey(file: string): void {
  renameSync(nextKeyFile(file), file);
  syncDirectory(dirname(file));
}

/**
 * Completes a change of the key file that a crash interrupted. Of the old and the new key, the one that opens the keyring is kept. If
 * neither opens it, both files stay. No other process may have the store open for writing.
 */
export function settleKeys(reader: Reader, { file, variable }: KeySource): void {
  if (variable !== undefined) return;
  const wrapped = readWrapped(reader);
  const next = readUnlockKey({ file: nextKeyFile(file), variable: undefined });
  if (!wrapped || typeof next === 'string') return;
  if (unwrapKeyring(next, wrapped)) takeNextKey(file);
  else {
    const current = readUnlockKey({ file, variable });
    // The new key is removed only if the current one opens the keyring.
    if (typeof current !== 'string' && unwrapKeyring(current, wrapped)) rmSync(nextKeyFile(file), { force: true });
  }
}
