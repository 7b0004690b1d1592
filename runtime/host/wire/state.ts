// The plugin state that the tasks of a frame see: the state at dispatch, with the updates of earlier tasks.

import { type Json, pack, packedEmpty } from '../../packing.ts';
import { failedBody } from './outcome.ts';
import { unpackObject } from './request.ts';
import type { TaskResult } from './response.ts';

/** The maximum length of the packed state of a plugin instance. */
export const stateBytesMax = 2 ** 20;

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

  /** The state in a new object. Each task gets one of its own. */
  fresh(): { [key: string]: Json } {
    return unpackObject(this.#packed);
  }

  /** Applies the state updates of a task, if it has any. If the state would exceed its limit, the task fails instead. */
  settle(settled: TaskResult): TaskResult {
    if (settled.stateUpdates === null) return settled;
    const packed = pack(this.#replaces ? settled.stateUpdates : { ...this.fresh(), ...settled.stateUpdates });
    if (packed.length > stateBytesMax) {
      const reason = `the plugin's state would have ${packed.length} bytes; the limit is ${stateBytesMax}`;
      return { verdict: 'error', permanent: true, body: failedBody(settled.body, reason), stateUpdates: null };
    }
    this.#packed = packed;
    return settled;
  }
}
