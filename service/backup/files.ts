// Hashes and copies the files of backups, and makes directories that appear only when they are whole.
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { replaceFile, syncDirectory } from '../../runtime/durable-file.ts';
import { identify, isAlive, type ProcessIdentity } from '../../runtime/processes/identity.ts';
import { BackupRefused } from './manifest.ts';

/** The ending of the name of a directory that is being filled. */
export const partialEnding = '.partial';
const writerName = 'writer.json';
/** A directory that has been without a note for this long counts as given up by its writer. */
const unnotedMsMax = 60_000;
const readBytes = 2 ** 20;

export type FileHash = { readonly bytes: number; readonly sha256: string };

/** Called with the number of bytes that were read since the last call. */
export type OnBytes = (bytes: number) => void;

/** The number and the hash of the bytes in a file. `take` gets each piece of them. */
export async function hashOf(
  path: string,
  onBytes: OnBytes = () => {},
  take: (chunk: Buffer) => Promise<void> = async () => {},
): Promise<FileHash> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: readBytes })) {
    hash.update(chunk);
    await take(chunk);
    bytes += chunk.length;
    onBytes(chunk.length);
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Copies a file to a new file with mode 0600. Resolves, once the copy is on disk, with the number and the hash of the bytes that were read. */
export async function copyFile(from: string, to: string, onBytes: OnBytes = () => {}): Promise<FileHash> {
  const target = await open(to, 'wx', 0o600);
  try {
    const read = await hashOf(from, onBytes, async chunk => {
      for (let at = 0; at < chunk.length; ) at += (await target.write(chunk, at)).bytesWritten;
    });
    await target.sync();
    return read;
  } finally {
    await target.close();
  }
}

/**
 * Makes the directory `target`. `fill` fills it under a partial name; it is renamed to `target` when it is whole and on disk. Throws BackupRefused if
 * something has either name already. If the process dies, `removeLeftovers` later removes the partial directory.
 */
export async function makeWhole<T>(target: string, fill: (directory: string) => Promise<T>): Promise<T> {
  const parent = dirname(target);
  removeLeftovers(parent);
  const partial = target + partialEnding;
  if (existsSync(target)) throw new BackupRefused(`${target} exists already; a backup never overwrites anything`);
  if (existsSync(partial)) throw new BackupRefused(`${partial} exists: another backup of this name is being written`);
  mkdirSync(partial, { mode: 0o700 });
  try {
    noteWriter(partial);
    const made = await fill(partial);
    syncDirectory(partial);
    // Fails if anything but an empty directory has taken this name in the meantime.
    renameSync(partial, target);
    syncDirectory(parent);
    // The note is removed last, so `removeLeftovers` can always judge a partial directory. In a finished directory the note has no effect.
    rmSync(join(target, writerName));
    syncDirectory(target);
    return made;
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw error;
  }
}

/** Notes in a partial directory that this process writes it. */
export function noteWriter(partial: string): void {
  replaceFile(join(partial, writerName), Buffer.from(JSON.stringify(identify(process.pid))), 0o600);
}

/**
 * Removes the unfinished directories in this directory whose writers have died, or belong to another boot or pid namespace. A writer that died
 * before it left its note has left an empty directory.
 */
export function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.endsWith(partialEnding) || name === partialEnding) continue;
    const path = join(parent, name);
    try {
      const writer = writerOf(join(path, writerName));
      if (writer === null ? isLeftEmpty(path) : !isAlive(writer)) rmSync(path, { recursive: true, force: true });
    } catch {
      // The directory belongs to another user, or has just been renamed. It is no obstacle: a backup needs only its own name to be free.
    }
  }
}

/** Whether this is a directory that has had nothing, or only an unfinished note, for `unnotedMsMax`. */
function isLeftEmpty(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory() || Date.now() - found.mtimeMs < unnotedMsMax) return false;
  return readdirSync(path).every(name => name.startsWith(`.${writerName}.`));
}

function writerOf(path: string): ProcessIdentity | null {
  try {
    const writer = JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity;
    return Number.isSafeInteger(writer?.pid) ? writer : null;
  } catch {
    return null;
  }
}
