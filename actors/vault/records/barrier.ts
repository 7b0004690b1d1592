// The barrier seals (encrypts) the keyring, the table of contents, the principals and the secrets with AES-256-GCM. A sealed record
// opens only under its own name and version.
//
//   salt (16) | nonce (12) | tag (16) | ciphertext
//
// Each sealing derives its own key from the given key and a random salt. So no pair of key and nonce is used twice, however often
// records are sealed.
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';

export type Random = (bytes: number) => Uint8Array;

/**
 * The identity of a sealed record, which the encryption authenticates as associated data. The keyring always has version 1. Each write
 * of any other record takes a new version number.
 */
export type RecordName = { readonly table: string; readonly name: string; readonly version: number };

export const keyBytes = 32;
const cipher = 'aes-256-gcm';
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = saltBytes + nonceBytes + tagBytes;

export function seal(key: Uint8Array, record: RecordName, plain: Uint8Array, random: Random): Buffer {
  const salt = random(saltBytes);
  const nonce = random(nonceBytes);
  const sealing = createCipheriv(cipher, sealKey(key, salt), nonce).setAAD(associated(record));
  const sealed = Buffer.concat([sealing.update(plain), sealing.final()]);
  return Buffer.concat([salt, nonce, sealing.getAuthTag(), sealed]);
}

/** Opens a sealed record. Null: the record was sealed under another key, name or version, or was changed afterwards. */
export function unseal(key: Uint8Array, record: RecordName, sealed: Uint8Array): Buffer | null {
  if (sealed.length < headBytes) return null;
  const salt = sealed.subarray(0, saltBytes);
  const nonce = sealed.subarray(saltBytes, saltBytes + nonceBytes);
  const tag = sealed.subarray(saltBytes + nonceBytes, headBytes);
  const opening = createDecipheriv(cipher, sealKey(key, salt), nonce, { authTagLength: tagBytes })
    .setAAD(associated(record))
    .setAuthTag(tag);
  try {
    return Buffer.concat([opening.update(sealed.subarray(headBytes)), opening.final()]);
  } catch {
    return null;
  }
}

function sealKey(key: Uint8Array, salt: Uint8Array): Buffer {
  return createHmac('sha256', key).update('headgate vault record\0').update(salt).digest();
}

/** The associated data as bytes. Different identities have different bytes, because no name contains a NUL. */
function associated({ table, name, version }: RecordName): Buffer {
  return Buffer.from(`${table}\0${name}\0${version}`);
}
