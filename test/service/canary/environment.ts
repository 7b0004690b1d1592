// Keys and tokens that a process is given in its environment.
import { existsSync, readFileSync } from 'node:fs';
import { keyVariable, readUnlockKey } from '../../../actors/vault/unlock-key.ts';
import { watch } from './canary.ts';

export type Environment = { readonly [name: string]: string };

/** Keys and tokens that came in variables, or lie in files that these name. */
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

/** The key, where there is one. */
export function watchUnlockKey(file: string, variable: string | undefined): Buffer | null {
  const key = readUnlockKey({ file, variable });
  if (typeof key === 'string') return null;
  watch('the unlock key', key);
  return key;
}
