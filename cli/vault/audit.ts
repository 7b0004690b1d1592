// Reads and verifies the audit trail, also beside a running service, as of one moment. The trail may be larger than memory.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AuditEntry,
  type AuditRecord,
  checkAuditEnd,
  recordOf,
  walkAudit,
} from '../../actors/vault/records/audit.ts';
import { rangesHave } from '../../actors/vault/records/job-ranges.ts';
import { type Keyring, readWrapped, unwrapKeyring } from '../../actors/vault/records/keyring.ts';
import { nextKeyFile, readUnlock, readUnlockKey } from '../../actors/vault/unlock-key.ts';
import { missingVault } from '../../actors/vault/vault.ts';
import { openReaderBeside } from '../../runtime/store/lmdb.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { type VaultPlace, VaultRefused } from './offline.ts';

const jobActor = 'job:';

export type AuditLine = { readonly seq: number } & AuditRecord;

export type AuditFilter = {
  readonly op?: string | undefined;
  readonly actor?: string | undefined;
  readonly principal?: string | undefined;
  readonly secret?: string | undefined;
  readonly outcome?: string | undefined;
};

/** Records that the filter wants, in pages of bounded size; returns the first thing that is not as it was written, or null: the whole trail is. All of it is verified, whatever the filter. */
export type AuditPages = Generator<readonly AuditLine[], string | null, void>;

/** Throws VaultRefused before the first page. Nothing is held open between pages but the reader, which is closed at the end. */
export function* readAudit(place: VaultPlace, filter: AuditFilter): AuditPages {
  const { keys } = place;
  const reader = openBeside(place);
  try {
    return yield* auditPages(reader, keys, filter);
  } finally {
    reader.close();
  }
}

export function openBeside({ statePath }: VaultPlace): Reader & { close(): void } {
  if (!existsSync(join(statePath, 'data.mdb'))) throw new VaultRefused(`there is no state in ${statePath}`);
  return openReaderBeside(statePath);
}

export function* auditPages(reader: Reader, keys: VaultPlace['keys'], filter: AuditFilter): AuditPages {
  const wanted = wantedBy(filter);
  const pages = entryPages(reader, keyringReader(reader, keys));
  for (;;) {
    const step = pages.next();
    if (step.done) return step.value;
    const page = step.value.map(lineOf).filter(wanted);
    if (page.length > 0) yield page;
  }
}

/** All records of the trail, in pages; a page is good until the next one is taken. Returns as `AuditPages` do. */
export function* entryPages(reader: Reader, now: () => Keyring): Generator<readonly AuditEntry[], string | null, void> {
  // At once: what is written while pages are taken lies behind the end that this keyring names.
  const wrongEnd = checkAuditEnd(reader, now());
  let page: AuditEntry[] = [];
  const work = walkAudit(reader, now, entry => page.push(entry));
  for (;;) {
    const step = work.next();
    if (page.length > 0) yield page;
    if (step.done) return step.value.broken ?? wrongEnd;
    page = [];
    reader.refresh();
  }
}

export function lineOf(entry: AuditEntry): AuditLine {
  return { seq: entry.seq, ...recordOf(entry) };
}

export function wantedBy(filter: AuditFilter): (line: AuditLine) => boolean {
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined) as [keyof AuditFilter, string][];
  return line => wanted.every(([field, value]) => matches(line, field, value));
}

/** A delivery is filtered by each of its secrets and each of its jobs. */
function matches(record: AuditRecord, field: keyof AuditFilter, value: string | undefined): boolean {
  if (record[field] === value) return true;
  if (field === 'secret') return record.secrets?.includes(value!) === true;
  return (
    field === 'actor' && value!.startsWith(jobActor) && rangesHave(record.jobs ?? [], value!.slice(jobActor.length))
  );
}

/** Reads the keyring as it is by then. */
export function keyringReader(reader: Reader, keys: VaultPlace['keys']): () => Keyring {
  return () => keyringOf(reader, keys);
}

function keyringOf(reader: Reader, keys: VaultPlace['keys']): Keyring {
  const wrapped = readWrapped(reader);
  if (!wrapped) {
    const missing = missingVault(reader, readUnlock(keys).file);
    throw new VaultRefused(missing ?? 'there is no vault: create one with headgate vault init');
  }
  const sources = keys.variable === undefined ? [keys, { ...keys, file: nextKeyFile(keys.file) }] : [keys];
  const found = sources.map(readUnlockKey);
  const opened = found.map(key => (typeof key === 'string' ? null : unwrapKeyring(key, wrapped)));
  const keyring = opened.find(one => one !== null);
  if (keyring) return keyring;
  const [first] = found;
  throw new VaultRefused(typeof first === 'string' ? first : 'the keyring does not open with this unlock key');
}
