// The plugin state that the tasks of a frame see: the state at dispatch, with the updates of earlier tasks.

import { type Json, pack, packedEmpty } from '../../packing.ts';
import { failedBody } from './outcome.ts';
import { unpackObject } from './request.ts';
import type { TaskResult } from './response.ts';

/** The maximum length of the packed state of a plugin instance. */
export const stateBytesMax = 2 ** 20;
/**
 * The maximum number of keys that one task may merge into the state. The number is limited because the ledger merges all keys in one turn.
 */
export const stateUpdatesMax = 50_000;

/** The error of a task that would merge more than `stateUpdatesMax` keys. */
export function tooManyUpdates(keys: number): string {
  return `state_updates has ${keys} keys; the limit is ${stateUpdatesMax}`;
}

export class FrameState {
  readonly #replaces: boolean;
  #packed: Uint8Array;

  /** `replaces`: whether updates replace the whole state instead of being merged into it. */
  constructor(packed: Uint8Array, replaces = false) {
    this.#packed = packed;
    this.#replaces = replaces;
  }

  get isEmpty(): boolean {
    return this.#packed[0] === packedEmpty[0];
  }

  /** Decodes the state into a new object. Each task gets an object of its own. */
  fresh(): { [key: string]: Json } {
    return unpackObject(this.#packed);
  }

  /** Applies the state updates of a task. If too many keys would be merged, or the state would become too large, the task fails instead. */
  settle(settled: TaskResult): TaskResult {
    if (settled.stateUpdates === null) return settled;
    const updated = Object.keys(settled.stateUpdates).length;
    if (!this.#replaces && updated > stateUpdatesMax) return refused(settled, tooManyUpdates(updated));
    const packed = pack(this.#replaces ? settled.stateUpdates : { ...this.fresh(), ...settled.stateUpdates });
    if (packed.length > stateBytesMax) {
      return refused(settled, `the plugin's state would have ${packed.length} bytes; the limit is ${stateBytesMax}`);
    }
    this.#packed = packed;
    return settled;
  }
}

function refused({ body }: TaskResult, reason: string): TaskResult {
  return { verdict: 'error', permanent: true, body: failedBody(body, reason), stateUpdates: null };
}
