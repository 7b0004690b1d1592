// A file with exported records of the audit trail. Verifying it requires the keyring of the vault.
//
//   {"first":5,"after":"<code of record 4>"}                head
//   {"seq":5,"code":"<code>","record":{…}}   one line for each record, in order
//   {"last":9,"seal":"<keyed hash>"}                      closing line: the hash covers first, after, last and the last code
import { createHash, createHmac } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hexOf } from '../../../runtime/bytes.ts';
import { type AuditEntry, codeBytes, codeOf, seqKey } from './audit.ts';
import { type AuditEnd, auditKeyOf, type Keyring } from './keyring.ts';

const fileMode = 0o600;
const directoryMode = 0o700;
const partialEnd = '.partial';
/** A partial file of another vault that was not written to for this long belongs to an interrupted export. */
const partialMsMax = 86_400_000;

export function headLine(after: AuditEnd): string {
  return line({ first: after.seq + 1, after: hexOf(after.code) });
}

export function entryLine({ seq, code, json }: AuditEntry): string {
  return `{"seq":${seq},"code":"${hexOf(code)}","record":${Buffer.from(json)}}\n`;
}

export function endLine(keyring: Keyring, after: AuditEnd, end: AuditEnd): string {
  return line({ last: end.seq, seal: hexOf(sealOf(keyring, after, end)) });
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

function sealOf(keyring: Keyring, after: AuditEnd, end: AuditEnd): Buffer {
  const whole = createHmac('sha256', auditKeyOf(keyring, end.seq)).update('headgate exported trail\0');
  return whole.update(seqKey(after.seq)).update(after.code).update(seqKey(end.seq)).update(end.code).digest();
}

/** Verifies a file line by line. Each problem is a clause that a caller puts after the name of the file. */
export class TrailFileCheck {
  /** The newest verified record; before the first one, the record after which the file begins. Null: the head has not been read. */
  end: AuditEnd | null = null;
  #after: AuditEnd | null = null;
  #isSealed = false;
  readonly #keyring: Keyring;

  constructor(keyring: Keyring) {
    this.#keyring = keyring;
  }

  /**
   * Verifies the next line. Returns the record of the line; null for the head and the closing line; a text that describes the fault if the
   * line does not verify.
   */
  take(text: string): AuditEntry | null | string {
    const value = parsed(text);
    if (value === null) return 'a line is not a JSON object';
    if (this.#isSealed) return 'there are lines after the closing line';
    if (this.#after === null) return this.#begin(value);
    return 'seal' in value ? this.#close(value) : this.#next(value);
  }

  /** The fault of a file whose lines have all been passed to `take`, each without a fault. Null: the file verifies. */
  get problem(): string | null {
    if (this.end === null) return 'the file is empty';
    return this.#isSealed ? null : `the closing line is missing after record ${this.end.seq}`;
  }

  #begin({ first, after }: Line): null | string {
    const code = bytesOf(after);
    if (!Number.isSafeInteger(first) || Number(first) < 1 || code === null)
      return 'the first line is not the head of an exported trail';
    this.#after = { seq: Number(first) - 1, code };
    this.end = this.#after;
    return null;
  }

  #next({ seq, code, record }: Line): AuditEntry | string {
    const before = this.end!;
    if (seq !== before.seq + 1) return `record ${before.seq + 1} is missing`;
    const json = Buffer.from(JSON.stringify(record) ?? '');
    const wanted = codeOf(this.#keyring, before.code, seq, json);
    const given = bytesOf(code);
    if (given === null || Buffer.compare(wanted, given) !== 0)
      return `record ${seq} was changed, or is from another vault`;
    this.end = { seq, code: wanted };
    return { seq, code: wanted, json };
  }

  #close({ last, seal }: Line): null | string {
    const wanted = sealOf(this.#keyring, this.#after!, this.end!);
    const given = bytesOf(seal);
    if (last !== this.end!.seq || given === null || Buffer.compare(wanted, given) !== 0)
      return `the closing line does not match record ${this.end!.seq} and the head`;
    this.#isSealed = true;
    return null;
  }
}

type Line = { readonly [field: string]: unknown };

function parsed(text: string): Line | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Line) : null;
  } catch {
    return null;
  }
}

function bytesOf(value: unknown): Buffer | null {
  const bytes = typeof value === 'string' && /^[\da-f]{64}$/.test(value) ? Buffer.from(value, 'hex') : null;
  return bytes?.length === codeBytes ? bytes : null;
}

/**
 * A file to which the service exports: `audit-<first>-<vault>-<mark>.partial`, renamed to `audit-<first>-<last>.ndjson` when it is complete. `vault`
 * distinguishes the vaults that export to one directory, and `mark` the exports of a vault.
 */
export type ExportTarget = {
  readonly directory: string;
  readonly first: number;
  readonly vault: string;
  readonly mark: string;
};

/** A text that identifies the vault, also after its keys were rotated. It does not reveal any key. */
export function vaultMark(keyring: Keyring): string {
  return markOf(createHmac('sha256', auditKeyOf(keyring, 1)).update('headgate vault mark\0').digest());
}

function markOf(bytes: Uint8Array): string {
  return hexOf(bytes).slice(0, 12);
}

function partialOf({ directory, first, vault, mark }: ExportTarget): string {
  return join(directory, `audit-${first}-${vault}-${mark}${partialEnd}`);
}

/** Creates the directory if it is missing, removes the partial files of interrupted exports, and begins a file. */
export async function beginExport(target: ExportTarget, lines: string, nowMs: number): Promise<void> {
  const { directory, vault } = target;
  await mkdir(directory, { recursive: true, mode: directoryMode });
  for (const name of await readdir(directory)) {
    if (!name.startsWith('audit-') || !name.endsWith(partialEnd)) continue;
    const path = join(directory, name);
    const isOver = name.includes(`-${vault}-`) || (await changedMs(path)) < nowMs - partialMsMax;
    if (isOver) await rm(path, { force: true });
  }
  await writeNew(partialOf(target), lines);
}

/** When the file was last written to. If it has been removed meanwhile, the result is infinite. */
async function changedMs(path: string): Promise<number> {
  return (await unlessMissing(stat(path)))?.mtimeMs ?? Number.POSITIVE_INFINITY;
}

export async function continueExport(target: ExportTarget, lines: string): Promise<void> {
  await appendTo(partialOf(target), lines);
}

/**
 * Completes the file. When the promise resolves, the file is on disk under its final name: `audit-<first>-<last>.ndjson`, or, if a file with other
 * records has this name, `audit-<first>-<last>-<mark>.ndjson`. An export that is repeated after a crash gets the name that it had.
 */
export async function endExport(target: ExportTarget, last: number, end: string): Promise<void> {
  const partial = partialOf(target);
  await appendTo(partial, end);
  const name = join(target.directory, `audit-${target.first}-${last}`);
  const isTaken = !(await endsWith(`${name}.ndjson`, end));
  const mark = markOf(createHash('sha256').update(end).digest());
  await putInPlace(partial, isTaken ? `${name}-${mark}.ndjson` : `${name}.ndjson`);
}

/** Whether a file ends with this closing line, whose keyed hash covers all records, or does not exist. */
async function endsWith(path: string, end: string): Promise<boolean> {
  const handle = await unlessMissing(open(path, 'r'));
  if (handle === null) return true;
  try {
    const wanted = Buffer.from(end);
    const { size } = await handle.stat();
    const found = Buffer.alloc(wanted.length);
    await handle.read(found, 0, found.length, Math.max(0, size - found.length));
    return found.equals(wanted);
  } finally {
    await handle.close();
  }
}

function unlessMissing<T>(result: Promise<T>): Promise<T | null> {
  return result.catch(error => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

/** Writes a new file. Fails if the file exists. */
export function writeNew(path: string, text: string): Promise<void> {
  return writeFile(path, text, { flag: 'wx', mode: fileMode });
}

/** Appends to a file. Fails if the file does not exist. */
export function appendTo(path: string, text: string): Promise<void> {
  return writeFile(path, text, { flag: constants.O_WRONLY | constants.O_APPEND });
}

/** Flushes the file to disk and renames it to its final name. */
export async function putInPlace(partial: string, path: string): Promise<void> {
  await flush(partial, 'r+');
  await rename(partial, path);
  await flush(dirname(path), 'r');
}

async function flush(path: string, flags: 'r' | 'r+'): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
