// Which events have started which step: the second one with the same key starts nothing there.
import { createHash } from 'node:crypto';
import type { Turn } from '../../runtime/turn.ts';
import { keyHashBytes, RememberedKeys } from '../remembered-keys.ts';

const nothing = new Uint8Array(0);

export class Dedupe extends RememberedKeys {
  /** Whether the key is new to the target (pipeline and step; an empty step is the pipeline's start); then it is remembered. */
  isNew(pipeline: string, stepId: string, key: string, turn: Turn): boolean {
    const text = JSON.stringify([pipeline, stepId, key]);
    const hash = createHash('sha256').update(text).digest().subarray(0, keyHashBytes);
    if (this.find(hash, turn) !== null) return false;
    this.remember(hash, nothing, turn);
    return true;
  }
}
