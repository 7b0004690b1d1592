// Reads and verifies the audit trail, beside a running service too: what is committed at one moment.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type AuditRecord, checkAuditEnd, walkAudit } from '../../actors/vault/audit.ts';
import { type Keyring, readWrapped, unwrapKeyring } from '../../actors/vault/keyring.ts';
import { nextKeyFile, readUnlockKey } from '../../actors/vault/unlock-key.ts';
import { hasRemains, keyringMissing } from '../../actors/vault/vault.ts';
import { openReader } from '../../runtime/store/lmdb.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { type VaultPlace, VaultRefused } from './offline.ts';

export type AuditLine = { readonly seq: number } & AuditRecord;

export type AuditFilter = {
  readonly op?: string | undefined;
  readonly actor?: string | undefined;
  readonly principal?: string | undefined;
  readonly secret?: string | undefined;
  readonly outcome?: string | undefined;
};

/** `broken`: the first thing that is not as it was written; null: the whole trail is. All of it is verified, whatever the filter. */
export type AuditFindings = { readonly records: readonly AuditLine[]; readonly broken: string | null };

export function readAudit({ statePath, keys }: VaultPlace, filter: AuditFilter): AuditFindings {
  if (!existsSync(join(statePath, 'data.mdb'))) throw new VaultRefused(`there is no state in ${statePath}`);
  const reader = openReader(statePath);
  try {
    return auditOf(reader, keys, filter);
  } finally {
    reader.close();
  }
}

export function auditOf(reader: Reader, keys: VaultPlace['keys'], filter: AuditFilter): AuditFindings {
  const keyring = keyringOf(reader, keys);
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined) as [keyof AuditFilter, string][];
  const records: AuditLine[] = [];
  const work = walkAudit(reader, keyring, (seq, record) => {
    if (wanted.every(([field, value]) => record[field] === value)) records.push({ seq, ...record });
  });
  for (;;) {
    const step = work.next();
    if (step.done) return { records, broken: step.value.broken ?? checkAuditEnd(reader, keyring) };
  }
}

function keyringOf(reader: Reader, keys: VaultPlace['keys']): Keyring {
  const wrapped = readWrapped(reader);
  if (!wrapped) {
    throw new VaultRefused(hasRemains(reader) ? keyringMissing : 'there is no vault: headgate vault init makes one');
  }
  const sources = keys.variable === undefined ? [keys, { ...keys, file: nextKeyFile(keys.file) }] : [keys];
  const found = sources.map(readUnlockKey);
  const opened = found.map(key => (typeof key === 'string' ? null : unwrapKeyring(key, wrapped)));
  const keyring = opened.find(one => one !== null);
  if (keyring) return keyring;
  const [first] = found;
  throw new VaultRefused(typeof first === 'string' ? first : 'the keyring does not open with this unlock key');
}
