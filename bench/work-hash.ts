// The fingerprint of what a bench has seen done: a bench that does nothing, or something else, shows.
import { createHash } from 'node:crypto';

export function workHash(work: unknown): string {
  return createHash('sha256').update(JSON.stringify(work)).digest('hex').slice(0, 16);
}
