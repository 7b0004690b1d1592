// The plugin state that the tasks of a frame see: that of the dispatch, and the updates of the tasks before.

import { type Json, pack, packedEmpty } from '../../packing.ts';
import { failedBody } from './outcome.ts';
import { unpackObject } from './request.ts';
import type { TaskResult } from './response.ts';

/** Of one plugin instance, packed. */
export const stateBytesMax = 2 ** 20;

export class FrameState {
  readonly #replaces: boolean;
  #packed: Uint8Array;

  /** `replaces`: updates take the place of the whole state, instead of being laid over it. */
  constructor(packed: Uint8Array, replaces = false) {
    this.#packed = packed;
    this.#replaces = replaces;
  }

  get isEmpty(): boolean {
    return this.#packed[0] === packedEmpty[0];
  }

  /** A copy of its own for every task. */
  fresh(): { [key: string]: Json } {
    return unpackObject(this.#packed);
  }

  /** Takes over the updates of a task that ended `ok`; one that would grow the state too much fails instead. */
  settle(settled: TaskResult): TaskResult {
    if (settled.stateUpdates === null) return settled;
    const packed = pack(this.#replaces ? settled.stateUpdates : { ...this.fresh(), ...settled.stateUpdates });
    if (packed.length > stateBytesMax) {
      const reason = `the state would have ${packed.length} bytes; at most ${stateBytesMax} are kept`;
      return { verdict: 'error', permanent: true, body: failedBody(settled.body, reason), stateUpdates: null };
    }
    this.#packed = packed;
    return settled;
  }
}
