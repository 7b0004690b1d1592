// The keyring is one record, sealed under the unlock key. It has the vault's keys, and the values against which other
// records are checked: both ends of the audit trail, and the version of the table of contents. That table has the
// versions of the principals and secrets.
import { pack, unpack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Random, seal, unseal } from './barrier.ts';

/** The number and the code of the last record of the audit trail, or of a part of it. */
export type AuditEnd = { readonly seq: number; readonly code: Uint8Array };

/** The key for the codes of audit records, starting with the record number `from`. */
export type AuditKey = { readonly from: number; readonly key: Uint8Array };

export type Keyring = {
  /** The key that seals the other sealed records: the table of contents, principals and secrets. */
  readonly dataKey: Uint8Array;
  /** The keys of the audit trail's codes, oldest first; the last one is in use. */
  readonly auditKeys: readonly AuditKey[];
  /** SHA-256 of the admin token. The token itself is not stored. */
  readonly adminDigest: Uint8Array;
  /** The newest version among the records that are sealed under `dataKey`. Each write of such a record takes the next version. */
  readonly version: number;
  /** The version of the table of contents. */
  readonly contents: number;
  readonly auditEnd: AuditEnd;
  /** The newest pruned record. Its code is needed to verify the oldest stored record. Absent: no record was pruned. */
  readonly auditBase?: AuditEnd;
};

const record = { table: 'vault', name: 'keyring', version: 1 } as const;
export const keyringKey = Buffer.from(record.name);

export function wrapKeyring(unlockKey: Uint8Array, keyring: Keyring, random: Random): Buffer {
  return seal(unlockKey, record, pack(keyring), random);
}

/** Opens the keyring. Null: the keyring was sealed under another key, or was changed afterwards. */
export function unwrapKeyring(unlockKey: Uint8Array, wrapped: Uint8Array): Keyring | null {
  const packed = unseal(unlockKey, record, wrapped);
  return packed && unpack<never>(packed);
}

/** The sealed keyring. Undefined: the store has no keyring. */
export function readWrapped(reader: Reader): Uint8Array | undefined {
  return reader.get('vault', keyringKey);
}

export function auditKeyOf(keyring: Keyring, seq: number): Uint8Array {
  return keyring.auditKeys.findLast(({ from }) => from <= seq)!.key;
}
