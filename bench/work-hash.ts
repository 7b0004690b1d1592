// The fingerprint of the work that a bench has done. It shows if a bench does nothing, or other work than before.
import { createHash } from 'node:crypto';

export function workHash(work: unknown): string {
  return createHash('sha256').update(JSON.stringify(work)).digest('hex').slice(0, 16);
}
