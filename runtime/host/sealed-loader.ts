// Stands between a plugin thread and the modules it loads, imported or required: those that were locked must be as locked.
import { readFile } from 'node:fs/promises';
import type { InitializeHook, LoadHook } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashOf, type SealedDirectory, sealedHash } from './digests.ts';

let directories: readonly SealedDirectory[] = [];

export const initialize: InitializeHook<readonly SealedDirectory[]> = sealed => {
  directories = sealed;
};

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (!url.startsWith('file:')) return loaded;
  const path = fileURLToPath(url);
  const home = directories.find(({ directory }) => path.startsWith(directory + sep));
  const sealed = home === undefined ? null : sealedHash(home, path);
  if (sealed === null) return loaded;
  // CommonJS comes without its source, and would be read again: what is returned here is run instead.
  const source = loaded.source ?? (await readFile(path));
  if (hashOf(source) !== sealed) throw new Error(`${path} has changed since it was locked`);
  return { ...loaded, source };
};
