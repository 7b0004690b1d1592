// The format of the Standard Webhooks keys in the section `tokens`.

/** A key of Standard Webhooks is this prefix followed by base64. */
export const standardKeyPrefix = 'whsec_';
const standardKeyShape = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

export function isStandardKey(key: string): boolean {
  return standardKeyShape.test(key);
}

/** The decoded bytes of a Standard Webhooks key. */
export function standardKeyBytes(key: string): Buffer {
  return Buffer.from(key.slice(standardKeyPrefix.length), 'base64');
}
