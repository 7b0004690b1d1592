// The barrier: every record of the vault is sealed with AES-256-GCM, and opens only as the record that it was sealed as.
//
//   salt (16) | nonce (12) | tag (16) | ciphertext
//
// Each seal has a key of its own, derived from the data key and the salt: however often one record is sealed anew, no
// pair of key and nonce comes twice.
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';

/** So many random bytes. */
export type Random = (bytes: number) => Uint8Array;

/** What a record was sealed as. A version is given once in the life of a vault. */
export type Place = { readonly table: string; readonly name: string; readonly version: number };

export const keyBytes = 32;
const cipher = 'aes-256-gcm';
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = saltBytes + nonceBytes + tagBytes;

export function seal(key: Uint8Array, place: Place, plain: Uint8Array, random: Random): Buffer {
  const salt = random(saltBytes);
  const nonce = random(nonceBytes);
  const sealing = createCipheriv(cipher, ownKey(key, salt), nonce).setAAD(associated(place));
  const sealed = Buffer.concat([sealing.update(plain), sealing.final()]);
  return Buffer.concat([salt, nonce, sealing.getAuthTag(), sealed]);
}

/** Null: it was sealed under another key, as another record, or was changed since. */
export function unseal(key: Uint8Array, place: Place, sealed: Uint8Array): Buffer | null {
  if (sealed.length < headBytes) return null;
  const salt = sealed.subarray(0, saltBytes);
  const nonce = sealed.subarray(saltBytes, saltBytes + nonceBytes);
  const tag = sealed.subarray(saltBytes + nonceBytes, headBytes);
  const opening = createDecipheriv(cipher, ownKey(key, salt), nonce, { authTagLength: tagBytes })
    .setAAD(associated(place))
    .setAuthTag(tag);
  try {
    return Buffer.concat([opening.update(sealed.subarray(headBytes)), opening.final()]);
  } catch {
    return null;
  }
}

function ownKey(key: Uint8Array, salt: Uint8Array): Buffer {
  return createHmac('sha256', key).update('headgate vault record\0').update(salt).digest();
}

/** No name has a NUL. */
function associated({ table, name, version }: Place): Buffer {
  return Buffer.from(`${table}\0${name}\0${version}`);
}
