// The keyring: the keys of the vault and the anchors of what they protect, in one record under the unlock key.
import { pack, unpack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Random, seal, unseal } from './barrier.ts';

/** The end of the audit trail: its newest record. */
export type AuditEnd = { readonly seq: number; readonly code: Uint8Array };

/** A key that the audit trail is chained with, from this record on. */
export type AuditKey = { readonly from: number; readonly key: Uint8Array };

export type Keyring = {
  /** Seals every other record of the vault. */
  readonly dataKey: Uint8Array;
  /** Oldest first; the last one is in use. */
  readonly auditKeys: readonly AuditKey[];
  /** SHA-256 of the admin token: the token itself is nowhere. */
  readonly adminDigest: Uint8Array;
  /** Counts the writes: the newest version that a record was given. */
  readonly version: number;
  /** The version of the table of contents. */
  readonly contents: number;
  readonly auditEnd: AuditEnd;
  /** The newest record that was pruned: the chain goes on from its code. Absent: none was. */
  readonly auditBase?: AuditEnd;
};

const place = { table: 'vault', name: 'keyring', version: 1 } as const;
export const keyringKey = Buffer.from(place.name);

export function wrapKeyring(unlockKey: Uint8Array, keyring: Keyring, random: Random): Buffer {
  return seal(unlockKey, place, pack(keyring), random);
}

/** Null: another key wrapped it, or it was changed since. */
export function unwrapKeyring(unlockKey: Uint8Array, wrapped: Uint8Array): Keyring | null {
  const packed = unseal(unlockKey, place, wrapped);
  return packed && unpack<never>(packed);
}

/** The wrapped keyring; undefined: there is none. */
export function readWrapped(reader: Reader): Uint8Array | undefined {
  return reader.get('vault', keyringKey);
}

export function auditKeyOf(keyring: Keyring, seq: number): Uint8Array {
  return keyring.auditKeys.findLast(({ from }) => from <= seq)!.key;
}
