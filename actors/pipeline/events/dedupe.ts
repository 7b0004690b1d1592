// Remembers which events have started which pipelines and steps. Within 24 hours, a second event with the same dedupe key does not start
// the same pipeline or step again.
//
//   the value that is remembered with a key: the event that used the key (`eventKey` of records/reuse.ts). It is empty if the key
//   started a pipeline, and in records of earlier versions
import { createHash } from 'node:crypto';
import type { Turn } from '../../../runtime/turn.ts';
import { keyHashBytes, RememberedKeys } from '../../remembered-keys.ts';

const nothing = new Uint8Array(0);

export class Dedupe extends RememberedKeys {
  /**
   * Whether the key is new to this target. A new key is remembered. A target is a pipeline and step; an empty step means the start of the
   * pipeline. `event`: the event that uses the key.
   */
  isNew(pipeline: string, stepId: string, key: string, turn: Turn, event: Uint8Array = nothing): boolean {
    const hash = hashOf(pipeline, stepId, key);
    if (this.find(hash, turn) !== null) return false;
    this.remember(hash, event, turn);
    return true;
  }

  /** Whether the key is new to this target, or may have been used by this very event. A new key is remembered. */
  isNewOrOwn(pipeline: string, stepId: string, key: string, turn: Turn, event: Uint8Array): boolean {
    const user = this.find(hashOf(pipeline, stepId, key), turn);
    if (user === null) return this.isNew(pipeline, stepId, key, turn, event);
    return user.length === 0 || Buffer.compare(user, event) === 0;
  }
}

function hashOf(pipeline: string, stepId: string, key: string): Uint8Array {
  const text = JSON.stringify([pipeline, stepId, key]);
  return createHash('sha256').update(text).digest().subarray(0, keyHashBytes);
}
