// Keys of webhook signatures, as they are written in `tokens`.

/** What the keys of Standard Webhooks begin with; base64 follows. */
export const standardKeyPrefix = 'whsec_';
const standardKeyShape = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

export function isStandardKey(key: string): boolean {
  return standardKeyShape.test(key);
}

/** The bytes that the base64 stands for. */
export function standardKeyBytes(key: string): Buffer {
  return Buffer.from(key.slice(standardKeyPrefix.length), 'base64');
}
