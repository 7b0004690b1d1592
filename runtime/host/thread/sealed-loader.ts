// The module loader for Node before 22.15. It runs on a thread of its own, and verifies the modules that a plugin thread imports.
import type { InitializeHook, LoadHook } from 'node:module';
import { type SealedDirectory, verifyLoaded } from '../wire/digests.ts';

let directories: readonly SealedDirectory[] = [];

export const initialize: InitializeHook<readonly SealedDirectory[]> = sealed => {
  directories = sealed;
};

export const load: LoadHook = async (url, context, nextLoad) =>
  verifyLoaded(directories, url, await nextLoad(url, context));
