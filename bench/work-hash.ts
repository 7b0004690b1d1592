// The fingerprint of the work that a bench has done. If it changes, the bench has done other work than before, or none.
import { createHash } from 'node:crypto';

export function workHash(work: unknown): string {
  return createHash('sha256').update(JSON.stringify(work)).digest('hex').slice(0, 16);
}
