// The seal key: 32 random bytes in a file that only its owner can use, outside the directories of the configuration,
// the state and the plugins.
import { randomBytes } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { createFile, makeDirectory } from '../../runtime/durable-file.ts';
import type { Config } from '../config.ts';
import { diskReason, type Files, isWithin } from '../source/files.ts';
import type { Environment } from '../source/interpolation.ts';

const keyBytes = 32;

/** The seal key and its file, or why the key cannot be used. `isMissing`: the file does not exist. */
export type SealKey =
  | { readonly ok: true; readonly key: Uint8Array; readonly file: string }
  | { readonly ok: false; readonly message: string; readonly file: string | null; readonly isMissing: boolean };

/**
 * Reads the key from the file that HEADGATE_SEAL_KEY_FILE names, else from ~/.config/headgate/seal.key. Refuses a key in the
 * configuration directory, in the state directory or in a plugin root, and a key that other users can use.
 */
export function readSealKey(config: Config, env: Environment, cwd: string, disk: Files): SealKey {
  const file = keyFileOf(env, cwd);
  const refuse = (message: string, isMissing = false): SealKey => ({ ok: false, message, file, isMissing });
  if (file === null) return refuse('HOME is not set; name the file of the seal key with HEADGATE_SEAL_KEY_FILE');
  const place = forbiddenPlace(file, config, disk);
  if (place !== null)
    return refuse(`the seal key must not be in ${place}; move it, and name its file with HEADGATE_SEAL_KEY_FILE`);
  try {
    if (disk.kind(file) === 'missing')
      return refuse('the seal key is missing; restore it, or create one with "headgate config lock"', true);
    if (disk.kind(file) !== 'file') return refuse('the seal key is not a file');
    if ((disk.mode(file) & 0o077) !== 0)
      return refuse('users other than its owner can use the seal key; set its mode to 0600');
    const key = disk.read(file);
    if (key.length !== keyBytes) return refuse(`the seal key has ${key.length} bytes; it must have ${keyBytes}`);
    return { ok: true, key, file };
  } catch (error) {
    return refuse(`the seal key cannot be read (${diskReason(error)})`);
  }
}

/** Creates the seal key in this file, unless the file exists. Throws the system's error if that fails. */
export function makeSealKey(file: string): void {
  makeDirectory(dirname(file), 0o700);
  createFile(file, randomBytes(keyBytes), 0o600);
}

/** The file of the key, which may not exist yet; null: neither HEADGATE_SEAL_KEY_FILE nor HOME is set. */
export function keyFileOf(env: Environment, cwd: string): string | null {
  const named = env['HEADGATE_SEAL_KEY_FILE'];
  if (named) return resolve(cwd, named);
  return env['HOME'] ? join(resolve(cwd, env['HOME']), '.config/headgate/seal.key') : null;
}

/**
 * In words, the directory (of the configuration, of the state or of plugins) that contains the file, with links resolved or not.
 * Null if none of them contains the file.
 */
function forbiddenPlace(file: string, config: Config, disk: Files): string | null {
  const places: readonly (readonly [name: string, directory: string])[] = [
    ['the configuration directory', dirname(config.mainFile)],
    ['state.path', config.state.path],
    ...config.pluginRoots.map(root => ['a plugin root', root] as const),
  ];
  const ways = [file, resolved(file, disk)];
  const found = places.find(([, directory]) =>
    [directory, resolved(directory, disk)].some(home => ways.some(way => isWithin(way, home))),
  );
  return found === undefined ? null : `${found[0]} ${found[1]}`;
}

/** The path, with links resolved in the part of the path that exists. */
export function resolved(path: string, disk: Files): string {
  try {
    return disk.realpath(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(resolved(above, disk), path.slice(above.length));
  }
}

/** Whether HEADGATE_STRICT is set to anything other than an empty text or 0. */
export function isStrictEnvironment(env: Environment): boolean {
  return !['', '0', undefined].includes(env['HEADGATE_STRICT']);
}
