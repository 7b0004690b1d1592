// Reads and verifies the audit trail, beside a running service too: what is committed at one moment. It may be far larger than the memory.
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

/** Records that the filter wants, in pages of bounded size; returns the first thing that is not as it was written, or null: the whole trail is. All of it is verified, whatever the filter. */
export type AuditPages = Generator<readonly AuditLine[], string | null, void>;

/** Throws VaultRefused before the first page. Nothing is held open between pages but the reader, which is closed at the end. */
export function* readAudit({ statePath, keys }: VaultPlace, filter: AuditFilter): AuditPages {
  if (!existsSync(join(statePath, 'data.mdb'))) throw new VaultRefused(`there is no state in ${statePath}`);
  const reader = openReader(statePath);
  try {
    return yield* auditPages(reader, keys, filter);
  } finally {
    reader.close();
  }
}

export function* auditPages(reader: Reader, keys: VaultPlace['keys'], filter: AuditFilter): AuditPages {
  const keyring = keyringOf(reader, keys);
  // At once: what is written while pages are taken lies behind the end that this keyring names.
  const wrongEnd = checkAuditEnd(reader, keyring);
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined) as [keyof AuditFilter, string][];
  let page: AuditLine[] = [];
  const work = walkAudit(reader, keyring, (seq, record) => {
    if (wanted.every(([field, value]) => record[field] === value)) page.push({ seq, ...record });
  });
  for (;;) {
    const step = work.next();
    if (page.length > 0) yield page;
    if (step.done) return step.value.broken ?? wrongEnd;
    page = [];
    reader.refresh();
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
