// Remembers which events have started which pipelines and steps. Within 24 hours, a second event with the same dedupe key does not start
// the same pipeline or step again.
import { createHash } from 'node:crypto';
import type { Turn } from '../../../runtime/turn.ts';
import { keyHashBytes, RememberedKeys } from '../../remembered-keys.ts';

const nothing = new Uint8Array(0);

export class Dedupe extends RememberedKeys {
  /**
   * Whether the key is new to this target. A new key is remembered. A target is a pipeline and step; an empty step means the start of the
   * pipeline.
   */
  isNew(pipeline: string, stepId: string, key: string, turn: Turn): boolean {
    const text = JSON.stringify([pipeline, stepId, key]);
    const hash = createHash('sha256').update(text).digest().subarray(0, keyHashBytes);
    if (this.find(hash, turn) !== null) return false;
    this.remember(hash, nothing, turn);
    return true;
  }
}
