// Keys and tokens that a process is given in its environment.
import { existsSync, readFileSync } from 'node:fs';
import { keyVariable, readUnlockKey } from '../../../actors/vault/unlock-key.ts';
import { watch } from './canary.ts';

export type Environment = { readonly [name: string]: string };

/** Makes sweeps look for the keys and tokens in these variables, and in the files that the variables name. */
export function watchEnvironment(environment: Environment): void {
  for (const [name, value] of Object.entries(environment)) {
    if (/_FILE$/.test(name)) watchFile(name, value);
    else if (/KEY|TOKEN|SECRET/.test(name)) watch(name, value);
    if (name === keyVariable) watchUnlockKey('', value);
  }
}

export function watchFile(name: string, path: string): void {
  if (existsSync(path)) watch(name, readFileSync(path));
}

/** Makes sweeps look for the unlock key of a vault. Returns the key; null if there is none. */
export function watchUnlockKey(file: string, variable: string | undefined): Buffer | null {
  const key = readUnlockKey({ file, variable });
  if (typeof key === 'string') return null;
  watch('the unlock key', key);
  return key;
}
