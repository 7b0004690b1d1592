// The keyring: one record, sealed under the unlock key. It has the vault's keys, and the facts against which the other records are checked:
// versions, and the ends of the audit trail.
import { pack, unpack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Random, seal, unseal } from './barrier.ts';

/** The record where the audit trail, or a part of it, ends. */
export type AuditEnd = { readonly seq: number; readonly code: Uint8Array };

/** The key of the audit trail's codes, from this record on. */
export type AuditKey = { readonly from: number; readonly key: Uint8Array };

export type Keyring = {
  /** The key that seals the other sealed records: the table of contents, principals and secrets. */
  readonly dataKey: Uint8Array;
  /** The keys of the audit trail's codes, oldest first; the last one is in use. */
  readonly auditKeys: readonly AuditKey[];
  /** SHA-256 of the admin token. The token itself is not stored. */
  readonly adminDigest: Uint8Array;
  /** The newest version among the other sealed records. Each write of such a record takes the next version. */
  readonly version: number;
  /** The version of the table of contents. */
  readonly contents: number;
  readonly auditEnd: AuditEnd;
  /** The newest record that was pruned. The chain continues from its code. Absent: none was pruned. */
  readonly auditBase?: AuditEnd;
};

const record = { table: 'vault', name: 'keyring', version: 1 } as const;
export const keyringKey = Buffer.from(record.name);

export function wrapKeyring(unlockKey: Uint8Array, keyring: Keyring, random: Random): Buffer {
  return seal(unlockKey, record, pack(keyring), random);
}

/** Opens the keyring. Null: it was wrapped with another key, or changed afterwards. */
export function unwrapKeyring(unlockKey: Uint8Array, wrapped: Uint8Array): Keyring | null {
  const packed = unseal(unlockKey, record, wrapped);
  return packed && unpack<never>(packed);
}

/** The wrapped keyring; undefined: there is none. */
export function readWrapped(reader: Reader): Uint8Array | undefined {
  return reader.get('vault', keyringKey);
}

export function auditKeyOf(keyring: Keyring, seq: number): Uint8Array {
  return keyring.auditKeys.findLast(({ from }) => from <= seq)!.key;
}
