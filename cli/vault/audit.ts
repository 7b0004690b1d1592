// Reads and verifies the audit trail page by page, because the trail may be far larger than memory. The service may be running
// and append to the trail.
import {
  type AuditEntry,
  type AuditRecord,
  checkAuditEnd,
  recordOf,
  walkAudit,
} from '../../actors/vault/records/audit.ts';
import { rangesHave } from '../../actors/vault/records/job-ranges.ts';
import type { Keyring } from '../../actors/vault/records/keyring.ts';
import { readUnlock } from '../../actors/vault/unlock-key.ts';
import { isKeyring, openKeyring } from '../../actors/vault/vault.ts';
import { nextKeyFile } from '../../config/key-file.ts';
import { hasLedger, openReaderBeside } from '../../runtime/store/ledger-store.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { noVault, type VaultLocation, vaultRefusal } from './offline.ts';

const jobActor = 'job:';

export type AuditLine = { readonly seq: number } & AuditRecord;

export type AuditFilter = {
  readonly [Field in 'op' | 'actor' | 'principal' | 'secret' | 'outcome']?: string | undefined;
};

/**
 * Yields the records that match the filter, in pages of bounded size. Returns null, or the first problem of the trail. The whole
 * trail is verified, whatever the filter is.
 */
export type AuditPages = Generator<readonly AuditLine[], string | null, void>;

/**
 * Reads the trail in the ledger. Throws a `vaultRefusal` before the first page if there is no vault, or if the vault does not open.
 */
export function* readAudit(place: VaultLocation, filter: AuditFilter): AuditPages {
  const { keys } = place;
  const reader = openBeside(place);
  try {
    return yield* auditPages(reader, keys, filter);
  } finally {
    reader.close();
  }
}

/** Opens the ledger for reading; a service may be running on it. Throws a `vaultRefusal` if there is no ledger. */
export function openBeside({ statePath }: VaultLocation): Reader & { close(): void } {
  if (!hasLedger(statePath))
    throw vaultRefusal(`${statePath} is not a state directory: its data.mdb is missing or empty`);
  return openReaderBeside(statePath);
}

export function* auditPages(reader: Reader, keys: VaultLocation['keys'], filter: AuditFilter): AuditPages {
  const wanted = wantedBy(filter);
  const pages = entryPages(reader, keyringReader(reader, keys));
  for (;;) {
    const step = pages.next();
    if (step.done) return step.value;
    const page = step.value.map(lineOf).filter(wanted);
    if (page.length > 0) yield page;
  }
}

/**
 * Verifies the trail and yields its records in pages, up to the first record that does not verify. Returns the problem of that record. If all
 * records verify, returns the problem of the end of the trail, or null: the trail is intact. Each page is valid until the next page is taken.
 */
export function* entryPages(
  reader: Reader,
  currentKeyring: () => Keyring,
): Generator<readonly AuditEntry[], string | null, void> {
  // The end of the trail is checked first, because the service may append records during the walk.
  const wrongEnd = checkAuditEnd(reader, currentKeyring());
  const pages = walkAudit(reader, currentKeyring);
  for (;;) {
    const step = pages.next();
    if (step.done) return step.value ?? wrongEnd;
    yield step.value;
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

/**
 * Whether the field of the record has this value. A delivery of several secrets to several jobs is one record: its field `secret` matches each of
 * the secrets, and its field `actor` matches `job:<id>` of each of the jobs.
 */
function matches(record: AuditRecord, field: keyof AuditFilter, value: string | undefined): boolean {
  if (record[field] === value) return true;
  if (field === 'secret') return record.secrets?.includes(value!) === true;
  return (
    field === 'actor' && value!.startsWith(jobActor) && rangesHave(record.jobs ?? [], value!.slice(jobActor.length))
  );
}

/** Returns a function that reads the current keyring at each call. */
export function keyringReader(reader: Reader, keys: VaultLocation['keys']): () => Keyring {
  // Between the commit of a key change and the renaming of the new key file, the new key is in a file beside the key file.
  const sources = keys.variable === undefined ? [keys, { ...keys, file: nextKeyFile(keys.file) }] : [keys];
  return () => {
    const found = sources.map(source => openKeyring(reader, readUnlock(source)));
    const keyring = found.find(isKeyring);
    if (!keyring) throw vaultRefusal((found[0] as string | null) ?? noVault);
    return keyring;
  };
}
