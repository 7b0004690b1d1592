// Files with exported audit records: `exportTrail` writes one, also while the service runs, and `readTrailFiles` verifies several as one
// chain.
import { closeSync, existsSync, openSync, readSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { auditStart, codeBytes, recordOf, seqKey } from '../../actors/vault/records/audit.ts';
import type { AuditEnd, Keyring } from '../../actors/vault/records/keyring.ts';
import {
  appendTo,
  endLine,
  entryLine,
  headLine,
  putInPlace,
  TrailFileCheck,
  writeNew,
} from '../../actors/vault/records/trail-file.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';
import {
  type AuditFilter,
  type AuditLine,
  type AuditPages,
  entryPages,
  keyringReader,
  lineOf,
  openBeside,
  wantedBy,
} from './audit.ts';
import { type VaultLocation, vaultRefusal } from './offline.ts';

const chunkBytes = 1 << 16;
/** The maximum length of a line, far above the longest record. */
const lineBytesMax = 16 * 2 ** 20;

type Exported = {
  readonly first: number;
  readonly last: number;
  readonly records: number;
};

/**
 * Verifies the whole trail, and writes the records that precede the first one at or after `beforeUs` into a new file. Resolves with null,
 * and writes no file, if there are no such records. The file gets its name when it is complete on disk. If the trail is broken, throws a
 * `vaultRefusal` and leaves no file.
 */
export async function exportTrail(place: VaultLocation, file: string, beforeUs: number): Promise<Exported | null> {
  const path = resolve(file);
  if (existsSync(path)) throw vaultRefusal(`${file} already exists and is not overwritten`);
  const partial = join(dirname(path), `.${basename(path)}.partial`);
  const reader = openBeside(place);
  try {
    rmSync(partial, { force: true });
    return await writeSegment(reader, place, { path, partial, beforeUs });
  } catch (error) {
    // Only errors of the file have a system call. Errors of the ledger, which is read at the same time, are thrown unchanged.
    throw 'syscall' in Object(error) ? ioFailure(`${file} cannot be written`, error) : error;
  } finally {
    reader.close();
    rmSync(partial, { force: true });
  }
}

type Target = { readonly path: string; readonly partial: string; readonly beforeUs: number };

async function writeSegment(
  reader: Reader,
  { keys }: VaultLocation,
  { path, partial, beforeUs }: Target,
): Promise<Exported | null> {
  const currentKeyring = keyringReader(reader, keys);
  const keyring = currentKeyring();
  const after = keyring.auditBase ?? auditStart;
  let end: AuditEnd = after;
  let isOver = false;
  await writeNew(partial, headLine(after));
  const pages = entryPages(reader, currentKeyring);
  for (let step = pages.next(); ; step = pages.next()) {
    if (step.done) {
      if (step.value !== null) throw vaultRefusal(`the audit trail is broken: ${step.value}`);
      break;
    }
    let lines = '';
    for (const entry of step.value) {
      isOver ||= recordOf(entry).at >= beforeUs;
      if (isOver) break;
      if (entry.seq !== end.seq + 1)
        throw vaultRefusal('the service pruned the trail during the export: run the command again');
      lines += entryLine(entry);
      end = { seq: entry.seq, code: entry.code };
    }
    if (lines !== '') await appendTo(partial, lines);
  }
  const records = end.seq - after.seq;
  if (records === 0) return null;
  await appendTo(partial, endLine(keyring, after, end));
  await putInPlace(partial, path);
  return { first: after.seq + 1, last: end.seq, records };
}

/**
 * Verifies exported files: each must continue where the file before it ends, and the trail in the ledger must continue where the
 * last file ends. `AuditPages` describes the yielded and returned values.
 */
export function* readTrailFiles(place: VaultLocation, files: readonly string[], filter: AuditFilter): AuditPages {
  const reader = openBeside(place);
  try {
    const keyring = keyringReader(reader, place.keys)();
    const wanted = wantedBy(filter);
    let end: AuditEnd | null = null;
    for (const file of files) {
      const check = new TrailFileCheck(keyring);
      for (const lines of linePages(file)) {
        const page: AuditLine[] = [];
        for (const line of lines) {
          const isFirst = check.end === null;
          const entry = check.take(line);
          if (typeof entry === 'string') return `${file}: ${entry}`;
          if (isFirst && end !== null && !isSame(check.end!, end))
            return `${file}: it does not continue where the file before it ends`;
          if (entry !== null && wanted(lineOf(entry))) page.push(lineOf(entry));
        }
        if (page.length > 0) yield page;
      }
      if (check.problem !== null) return `${file}: ${check.problem}`;
      end = check.end;
    }
    return isFollowed(reader, keyring, end!)
      ? null
      : `vault_audit: the trail does not continue where ${files.at(-1)} ends`;
  } finally {
    reader.close();
  }
}

function isSame(one: AuditEnd, other: AuditEnd): boolean {
  return one.seq === other.seq && Buffer.compare(one.code, other.code) === 0;
}

/** Whether the trail in the ledger continues after `end`; true if the ledger has pruned the records that could be compared. */
function isFollowed(reader: Reader, { auditBase = auditStart }: Keyring, end: AuditEnd): boolean {
  if (end.seq <= auditBase.seq) return end.seq < auditBase.seq || isSame(end, auditBase);
  const value = reader.get('vault_audit', seqKey(end.seq));
  return value !== undefined && Buffer.compare(value.subarray(0, codeBytes), end.code) === 0;
}

/**
 * Yields the lines of a file in pages. Each page has the lines that end in one chunk. Text after the last line break is a line
 * too.
 */
function* linePages(file: string): Generator<readonly string[], void, void> {
  const chunk = Buffer.alloc(chunkBytes);
  let rest = Buffer.alloc(0);
  const handle = orFail(file, () => openSync(file, 'r'));
  try {
    for (;;) {
      const bytes = orFail(file, () => readSync(handle, chunk));
      rest = Buffer.concat([rest, chunk.subarray(0, bytes)]);
      const end = bytes === 0 ? rest.length : rest.lastIndexOf(0x0a) + 1;
      if (end > 0) yield rest.toString('utf8', 0, end).replace(/\n$/, '').split('\n');
      if (bytes === 0) return;
      rest = rest.subarray(end);
      if (rest.length > lineBytesMax) throw vaultRefusal(`${file}: a line is longer than ${lineBytesMax} bytes`);
    }
  } finally {
    closeSync(handle);
  }
}

function orFail<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw ioFailure(`${file} cannot be read`, error);
  }
}

function ioFailure(what: string, error: unknown): Error {
  return failure(exitStatus.io, 'io_error', 'Input or output failed', `${what}: ${(error as Error).message}`, error);
}
