// Verifies the code of sealed plugins: compares a file's digest with the digest in the lock before the file is loaded or started.
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import type { LoadFnOutput } from 'node:module';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Digests, HostedPlugin } from './plugin-host.ts';

/** A plugin's directory, with links resolved, and the digests of its files. */
export type SealedDirectory = { readonly directory: string; readonly digests: Digests };

/** Rejects if the plugin is sealed and its entrypoint has changed since it was locked. */
export async function verifyEntrypoint({ directory, entrypoint, digests }: HostedPlugin): Promise<void> {
  if (digests === undefined) return;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(join(directory, entrypoint))) hash.update(chunk as Buffer);
  if (hash.digest('hex') !== digests[entrypoint]) throw new Error(`${entrypoint} has changed since it was locked`);
}

/** Throws if `sealed`, the digest in the lock, is not the digest of the source. `path`: the file that the message names. */
export function verifySource(path: string, sealed: string, source: NonNullable<LoadFnOutput['source']>): void {
  const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : source;
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== sealed) throw new Error(`${path} has changed since it was locked`);
}

/**
 * The digest that the file must have. Null: the file need not be verified, because it is in none of the directories, or is in
 * node_modules and not in the lock. Throws for any other file that is not in the lock.
 */
export function sealedHash(directories: readonly SealedDirectory[], path: string): string | null {
  const home = directories.find(({ directory }) => path.startsWith(directory + sep));
  if (home === undefined) return null;
  const name = relative(home.directory, path);
  if (Object.hasOwn(home.digests, name)) return home.digests[name]!;
  if (name.split(sep).includes('node_modules')) return null;
  throw new Error(`${path} is not in the lock`);
}

/** Verifies a module that a loader has found. Returns a verified module with its source, so that Node does not read the file again. */
export function verifyLoaded(directories: readonly SealedDirectory[], url: string, loaded: LoadFnOutput): LoadFnOutput {
  if (!url.startsWith('file:')) return loaded;
  const path = fileURLToPath(url);
  const sealed = sealedHash(directories, path);
  if (sealed === null) return loaded;
  // A CommonJS module may arrive without its source. Node would then read the file again after the check.
  const source = loaded.source ?? readFileSync(path);
  verifySource(path, sealed, source);
  return { ...loaded, source };
}
