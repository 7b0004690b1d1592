// Which lock was in force here last: kept with the state, so that an older lock, or none, can be told from a first one.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../runtime/durable-file.ts';
import { diskFiles, diskReason, type Files } from '../source/files.ts';

/** Of the newest lock that a start or reload went through with. */
export type Acceptance = { readonly number: number; readonly strict: boolean };

export function acceptanceFile(statePath: string): string {
  return join(statePath, 'seal.json');
}

/** Null: no lock was ever in force with this state. Throws when there is a record that cannot be read; the message says what to do. */
export function readAcceptance(statePath: string, disk: Files): Acceptance | null {
  const file = acceptanceFile(statePath);
  if (disk.kind(file) === 'missing') return null;
  try {
    const { number, strict } = JSON.parse(Buffer.from(disk.read(file)).toString()) as Partial<Acceptance>;
    if (!Number.isSafeInteger(number) || typeof strict !== 'boolean') throw new Error('no number and strictness');
    return { number: number!, strict };
  } catch (error) {
    const message = `does not say which lock was in force (${diskReason(error)}); look who changed it, and remove it`;
    throw new Error(message, { cause: error });
  }
}

/** Notes the lock that a start or reload went through with; durable when it returns. Throws the error of the system. */
export function accept(statePath: string, lock: Acceptance): void {
  const before = readAcceptance(statePath, diskFiles);
  if (before !== null && (before.number > lock.number || isSame(before, lock))) return;
  mkdirSync(statePath, { recursive: true, mode: 0o700 });
  replaceFile(acceptanceFile(statePath), Buffer.from(`${JSON.stringify(lock)}\n`), 0o600);
}

function isSame(a: Acceptance, b: Acceptance): boolean {
  return a.number === b.number && a.strict === b.strict;
}
