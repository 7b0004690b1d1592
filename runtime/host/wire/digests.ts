// Plugin code in strict mode: a file is loaded or started only if its digest is in the lock.
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import type { LoadFnOutput } from 'node:module';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Digests, HostedPlugin } from './plugin-host.ts';

/** A plugin's directory, with links resolved, and the digests of its files. */
export type SealedDirectory = { readonly directory: string; readonly digests: Digests };

/** Rejects if the entrypoint has changed since it was locked. */
export async function verifyEntrypoint({ directory, entrypoint, digests }: HostedPlugin): Promise<void> {
  if (digests === undefined) return;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(join(directory, entrypoint))) hash.update(chunk as Buffer);
  if (hash.digest('hex') !== digests[entrypoint]) throw new Error(`${entrypoint} has changed since it was locked`);
}

/** Throws if these bytes differ from those locked under the path. */
export function verifySource(path: string, sealed: string, source: NonNullable<LoadFnOutput['source']>): void {
  const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : source;
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== sealed) throw new Error(`${path} has changed since it was locked`);
}

/**
 * The expected hash of the file. Null: it is in none of the directories, or in node_modules, where nothing is sealed. Throws for a file
 * that is not in the lock.
 */
export function sealedHash(directories: readonly SealedDirectory[], path: string): string | null {
  const home = directories.find(({ directory }) => path.startsWith(directory + sep));
  if (home === undefined) return null;
  const name = relative(home.directory, path);
  if (Object.hasOwn(home.digests, name)) return home.digests[name]!;
  if (name.split(sep).includes('node_modules')) return null;
  throw new Error(`${path} is not in the lock`);
}

/** The module that a loader found, verified. It contains the source, so that exactly the verified bytes run. */
export function verifyLoaded(directories: readonly SealedDirectory[], url: string, loaded: LoadFnOutput): LoadFnOutput {
  if (!url.startsWith('file:')) return loaded;
  const path = fileURLToPath(url);
  const sealed = sealedHash(directories, path);
  if (sealed === null) return loaded;
  // CommonJS modules may arrive without their source, and would be read again after the check.
  const source = loaded.source ?? readFileSync(path);
  verifySource(path, sealed, source);
  return { ...loaded, source };
}
