// A stretch of the audit trail as a file, which can be verified for as long as somebody has the keyring of the vault.
//
//   {"first":5,"after":"<code of the record before>"}
//   {"seq":5,"code":"<code>","record":{…}}            one line for each record, in order
//   {"last":9,"seal":"<keyed hash over first, after, last and the code of the last record>"}
import { createHmac } from 'node:crypto';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type AuditEntry, codeBytes, codeOf, seqKey } from './audit.ts';
import { type AuditEnd, auditKeyOf, type Keyring } from './keyring.ts';

const fileMode = 0o600;
const directoryMode = 0o700;
const partialEnd = '.partial';

export function headLine(after: AuditEnd): string {
  return line({ first: after.seq + 1, after: hex(after.code) });
}

export function entryLine({ seq, code, json }: AuditEntry): string {
  return `{"seq":${seq},"code":"${hex(code)}","record":${Buffer.from(json)}}\n`;
}

export function endLine(keyring: Keyring, after: AuditEnd, end: AuditEnd): string {
  return line({ last: end.seq, seal: hex(sealOf(keyring, after, end)) });
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function sealOf(keyring: Keyring, after: AuditEnd, end: AuditEnd): Buffer {
  const whole = createHmac('sha256', auditKeyOf(keyring, end.seq)).update('headgate exported trail\0');
  return whole.update(seqKey(after.seq)).update(after.code).update(seqKey(end.seq)).update(end.code).digest();
}

/** Verifies a file line by line. `fail` says what is wrong with it, and where. */
export class TrailFileCheck {
  /** The newest record that was verified; null: the first line has not been read. */
  end: AuditEnd | null = null;
  #after: AuditEnd | null = null;
  #isSealed = false;
  readonly #keyring: Keyring;

  constructor(keyring: Keyring) {
    this.#keyring = keyring;
  }

  /** The record of the line, null for the first and the last line, or what is wrong. */
  take(text: string): AuditEntry | null | string {
    const value = parsed(text);
    if (value === null) return 'it has a line that is no JSON object';
    if (this.#isSealed) return 'it goes on behind its last line';
    if (this.#after === null) return this.#begin(value);
    return 'seal' in value ? this.#close(value) : this.#next(value);
  }

  /** What is wrong with the whole, when all lines were taken; null: nothing. */
  get problem(): string | null {
    return this.#isSealed ? null : `it ends behind record ${this.end?.seq ?? 'none'}, before its last line`;
  }

  #begin({ first, after }: Line): null | string {
    const code = bytesOf(after);
    if (!Number.isSafeInteger(first) || Number(first) < 1 || code === null) return 'its first line is none of a trail';
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
      return `record ${seq} was changed, or the keyring is that of another vault`;
    this.end = { seq, code: wanted };
    return { seq, code: wanted, json };
  }

  #close({ last, seal }: Line): null | string {
    const wanted = sealOf(this.#keyring, this.#after!, this.end!);
    const given = bytesOf(seal);
    if (last !== this.end!.seq || given === null || Buffer.compare(wanted, given) !== 0)
      return `its last line is not the one that was written behind record ${this.end!.seq}`;
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

/** Where the service exports to: `audit-<first>-<last>.ndjson`, which is called `audit-<first>-<mark>.partial` until it is whole. */
export type ExportPlace = { readonly directory: string; readonly first: number; readonly mark: string };

function partialOf({ directory, first, mark }: ExportPlace): string {
  return join(directory, `audit-${first}-${mark}${partialEnd}`);
}

/** Makes the directory, where there is none, and removes what exports that a crash cut off have left. */
export async function beginExport(place: ExportPlace, head: string): Promise<void> {
  const { directory } = place;
  await mkdir(directory, { recursive: true, mode: directoryMode });
  for (const name of await readdir(directory)) {
    if (name.startsWith('audit-') && name.endsWith(partialEnd)) await rm(join(directory, name), { force: true });
  }
  await appendTo(partialOf(place), head, 'wx');
}

export async function goOnExport(place: ExportPlace, lines: string): Promise<void> {
  await appendTo(partialOf(place), lines, 'r+');
}

/** When it resolves, the file is whole on disk, under its name. */
export async function endExport(place: ExportPlace, last: number, end: string): Promise<void> {
  const partial = partialOf(place);
  await appendTo(partial, end, 'r+');
  await putInPlace(partial, join(place.directory, `audit-${place.first}-${last}.ndjson`));
}

/** `r+`: the file must be there. */
export async function appendTo(path: string, text: string, flags: 'wx' | 'r+'): Promise<void> {
  const file = await open(path, flags, fileMode);
  try {
    const { size } = await file.stat();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) {
      at += (await file.write(bytes, at, bytes.length - at, size + at)).bytesWritten;
    }
  } finally {
    await file.close();
  }
}

/** Flushes the file, and gives it its name. */
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
