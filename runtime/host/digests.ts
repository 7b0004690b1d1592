// Plugin code in strict mode: what a thread loads, or a process is started from, must be what the seal was found to say.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { register } from 'node:module';
import { join, relative, sep } from 'node:path';
import type { HostedPlugin } from './port.ts';

export type SealedDirectory = Pick<HostedPlugin, 'directory' | 'digests'>;

/** From now on modules that this thread loads from these directories are verified, as the bytes that are then run. */
export function verifyLoads(plugins: readonly HostedPlugin[]): void {
  const sealed: SealedDirectory[] = plugins
    .filter(({ digests }) => digests !== undefined)
    .map(({ directory, digests }) => ({ directory, digests: digests! }));
  if (sealed.length > 0) register('./sealed-loader.js', { parentURL: import.meta.url, data: sealed });
}

/** What the file at this path must hash to; null: it lies in node_modules, where nothing is sealed. Throws where nothing may be. */
export function sealedHash({ directory, digests = {} }: SealedDirectory, path: string): string | null {
  const name = relative(directory, path);
  if (Object.hasOwn(digests, name)) return digests[name]!;
  if (name.split(sep).includes('node_modules')) return null;
  throw new Error(`${name} is not in the lock`);
}

export function hashOf(bytes: ArrayBuffer | NodeJS.ArrayBufferView | string): string {
  return createHash('sha256')
    .update(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes)
    .digest('hex');
}

/** Rejects when the entrypoint, as it is now, must not be started. */
export async function verifyEntrypoint({ directory, entrypoint, digests }: HostedPlugin): Promise<void> {
  if (digests === undefined) return;
  const path = join(directory, entrypoint);
  const sealed = sealedHash({ directory, digests }, path);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  if (hash.digest('hex') !== sealed) throw new Error(`${entrypoint} has changed since it was locked`);
}
