// Which lock was in force last, by which an older lock, or none, is told from a first one. It is noted twice: with the state, and
// beside the seal key by configuration directory, since whoever changes the configuration can name another state.
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { makeDirectory, replaceFile } from '../../runtime/durable-file.ts';
import { diskFiles, diskReason, type Files } from '../source/files.ts';

/** Of the newest lock that a start or reload went through with. */
export type LockAcceptance = { readonly number: number; readonly strict: boolean };

/** The note beside the seal key; `directory` is that of the main file, with links resolved. */
export type AcceptanceNote = { readonly keyFile: string; readonly directory: string };

/** The lock in force, and where it is to be noted beside the state. A memory of null: no directory for the seal key is known. */
export type AcceptedLock = { readonly lock: LockAcceptance | null; readonly memory: AcceptanceNote | null };

export function acceptanceFile(statePath: string): string {
  return join(statePath, 'seal.json');
}

export function acceptanceNoteFile({ keyFile, directory }: AcceptanceNote): string {
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 32);
  return join(dirname(keyFile), 'accepted', `${name}.json`);
}

/** Null: no lock was ever in force with this state. Throws when there is a record that cannot be read; the message says what to do. */
export function readAcceptance(statePath: string, disk: Files): LockAcceptance | null {
  const file = acceptanceFile(statePath);
  return disk.kind(file) === 'missing' ? null : readRecord(file, disk);
}

/** As `readAcceptance`; null too where the directory of the key does not exist or cannot be entered. */
export function readAcceptanceNote(memory: AcceptanceNote, disk: Files): LockAcceptance | null {
  if (disk.kind(dirname(memory.keyFile)) !== 'directory') return null;
  return readRecord(acceptanceNoteFile(memory), disk, memory.directory);
}

/**
 * Notes the lock that a start or reload went through with; durable when it returns. Throws the error of the system where the state
 * cannot have it. Returns why it is not noted beside the key: there the directory may well be read-only. Null: it is.
 */
export function accept(statePath: string, { lock, memory }: AcceptedLock): string | null {
  if (lock === null) return null;
  note(acceptanceFile(statePath), lock, readAcceptance(statePath, diskFiles), {});
  if (memory === null) return 'HOME is not set';
  try {
    const { directory } = memory;
    note(acceptanceNoteFile(memory), lock, readAcceptanceNote(memory, diskFiles), { directory });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function note(
  file: string,
  lock: LockAcceptance,
  before: LockAcceptance | null,
  more: { readonly directory?: string },
): void {
  if (before !== null && (before.number > lock.number || isSame(before, lock))) return;
  makeDirectory(dirname(file), 0o700);
  const { number, strict } = lock;
  replaceFile(file, Buffer.from(`${JSON.stringify({ number, strict, ...more })}\n`), 0o600);
}

/** `directory`: which the record must be of. */
function readRecord(file: string, disk: Files, directory?: string): LockAcceptance | null {
  try {
    const record = JSON.parse(Buffer.from(disk.read(file)).toString()) as Partial<LockAcceptance & AcceptanceNote>;
    const { number, strict } = record;
    if (!Number.isSafeInteger(number) || typeof strict !== 'boolean') throw new Error('no number and strictness');
    if (record.directory !== directory) throw new Error('it is of another directory');
    return { number: number!, strict };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    const message = `does not contain the lock in force (${diskReason(error)}); find out who changed it, then remove it`;
    throw new Error(message, { cause: error });
  }
}

function isSame(a: LockAcceptance, b: LockAcceptance): boolean {
  return a.number === b.number && a.strict === b.strict;
}
