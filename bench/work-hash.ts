// The fingerprint of the work that a bench has seen done. It reveals a bench that does nothing, or other work.
import { createHash } from 'node:crypto';

export function workHash(work: unknown): string {
  return createHash('sha256').update(JSON.stringify(work)).digest('hex').slice(0, 16);
}
