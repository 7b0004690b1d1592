// Two notes name the newest lock that a start or reload accepted. By these notes, a later start or reload detects an
// older or missing lock. One note is in the state directory. A changed configuration can name another state directory;
// the second note is therefore beside the seal key, where each configuration directory has its own note.
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { makeDirectory, replaceFile } from '../../runtime/durable-file.ts';
import { diskFiles, diskReason, type Files } from '../source/files.ts';

/** The newest lock that a start or reload accepted. */
export type LockAcceptance = { readonly number: number; readonly strict: boolean };

/** The location of the note beside the seal key. `directory` is the directory of the main file, with links resolved. */
export type AcceptanceNote = { readonly keyFile: string; readonly directory: string };

/**
 * `lock`: the lock to accept; null if no lock is valid. `note`: the location of the note beside the seal key; null if
 * the path of the seal key is unknown.
 */
export type AcceptedLock = { readonly lock: LockAcceptance | null; readonly note: AcceptanceNote | null };

export function acceptanceFile(statePath: string): string {
  return join(statePath, 'seal.json');
}

export function acceptanceNoteFile({ keyFile, directory }: AcceptanceNote): string {
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 32);
  return join(dirname(keyFile), 'accepted', `${name}.json`);
}

/**
 * Reads the note in the state directory. Null: there is no note. Throws if the note cannot be read; the message says
 * what to do.
 */
export function readAcceptance(statePath: string, disk: Files): LockAcceptance | null {
  const file = acceptanceFile(statePath);
  return disk.kind(file) === 'missing' ? null : readNoteFile(file, disk);
}

/**
 * Reads the note beside the seal key. Null: there is no note, or the key's directory does not exist or cannot be
 * entered. Throws if the note cannot be read; the message says what to do.
 */
export function readAcceptanceNote(note: AcceptanceNote, disk: Files): LockAcceptance | null {
  if (disk.kind(dirname(note.keyFile)) !== 'directory') return null;
  return readNoteFile(acceptanceNoteFile(note), disk, note.directory);
}

/**
 * Writes both notes of an accepted lock durably, unless they have this lock or a newer one. Throws if the note in the state directory cannot
 * be read or written. Returns null, or the reason why the note beside the key lacks the lock, for example a read-only directory.
 */
export function accept(statePath: string, { lock, note }: AcceptedLock): string | null {
  if (lock === null) return null;
  writeNote(acceptanceFile(statePath), lock, readAcceptance(statePath, diskFiles), {});
  if (note === null) return 'HOME is not set';
  try {
    const { directory } = note;
    writeNote(acceptanceNoteFile(note), lock, readAcceptanceNote(note, diskFiles), { directory });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function writeNote(
  file: string,
  lock: LockAcceptance,
  before: LockAcceptance | null,
  more: { readonly directory?: string },
): void {
  const { number, strict } = lock;
  if (before !== null && (before.number > number || (before.number === number && before.strict === strict))) return;
  makeDirectory(dirname(file), 0o700);
  replaceFile(file, Buffer.from(`${JSON.stringify({ number, strict, ...more })}\n`), 0o600);
}

/**
 * Reads a note. `directory` is the configuration directory that a note beside the key must name; a note in the state directory names none.
 */
function readNoteFile(file: string, disk: Files, directory?: string): LockAcceptance | null {
  try {
    const record = JSON.parse(Buffer.from(disk.read(file)).toString()) as Partial<LockAcceptance & AcceptanceNote>;
    const { number, strict } = record;
    if (!Number.isSafeInteger(number) || typeof strict !== 'boolean')
      throw new Error('its number or its field strict is missing or wrong');
    if (record.directory !== directory) throw new Error('it is for another directory');
    return { number: number!, strict };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    const message = `cannot be read as the note of the accepted lock (${diskReason(error)}); find out who changed it, then remove it`;
    throw new Error(message, { cause: error });
  }
}
