// After a start: the unsettled jobs are read back, in steps, so that work begins while older ones still load.

import { type JobId, jobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { AdoptedBlock } from './adoption.ts';
import type { JobState } from './job-state.ts';
import { handleLost } from './lost-attempts.ts';
import { latestAttempt } from './records/attempts.ts';
import { pipelinePlugin } from './records/job.ts';
import { type KeyText, keyText, OpenBlock } from './records/open.ts';
import { decodeRetry, type RetryRecord } from './records/retry.ts';

/** Open blocks that are read in one turn. */
const blocksPerTurnMax = 4096;
const nobody: ReadonlySet<number> = new Set();

export class Recovery {
  readonly #state: JobState;
  #from: Buffer | undefined;
  /** Blocks from here on are new: they are in memory already. */
  readonly #to: Uint8Array;
  /** Blocks that were taken over, with the frames that have jobs of theirs. */
  #adopted: ReadonlyMap<KeyText, AdoptedBlock> = new Map();

  constructor(state: JobState, nowMs: number) {
    this.#state = state;
    this.#to = state.blockKeys.next(nowMs);
    state.completions.nothingRuns();
  }

  /** What no frame has of these blocks waits, or is charged. */
  adopt(turn: Turn, adopted: ReadonlyMap<KeyText, AdoptedBlock>): void {
    this.#adopted = adopted;
    for (const { open, held } of adopted.values()) this.#take(turn, open, held);
  }

  /** Reads the next blocks; true when there are none left. */
  step(turn: Turn): boolean {
    const range = { ...(this.#from && { from: this.#from }), to: this.#to, limit: blocksPerTurnMax };
    let count = 0;
    for (const { key, value } of this.#state.reader.scan('open', range)) {
      count++;
      this.#from = Buffer.concat([key, Buffer.of(0)]);
      const name = keyText(key);
      if (this.#adopted.has(name)) continue;
      const open = this.#state.setAside.read('open', key, () => OpenBlock.decode(name, value));
      if (open && open.plugin !== pipelinePlugin) this.#take(turn, open, nobody);
    }
    return count < blocksPerTurnMax;
  }

  /** `held`: the jobs that hosts have. */
  #take(turn: Turn, open: OpenBlock, held: ReadonlySet<number>): void {
    const state = this.#state;
    state.unsettled += open.unsettled;
    const retries = open.retrying > 0 ? this.#retriesOf(open) : null;
    const solo = new Set(open.solo);
    const back = new Set(open.back);
    open.solo = open.solo.filter(index => held.has(index));
    for (let index = 0; index < open.next; index++) {
      if (open.isSettled(index) || held.has(index)) continue;
      const retry = retries?.get(index);
      if (retry) this.#takeRetry(turn, open, index, retry);
      else if (solo.has(index)) handleLost(this.#state, turn, open, index, 1, false);
      else {
        if (!back.has(index)) {
          open.back.push(index);
          state.touch(open);
        }
        // Who was in a frame with others may never have started: it runs alone, so that a second time is certain.
        state.lane(open.plugin).enqueueAgain({ open, index, attempt: 1, kept: false, alone: !back.has(index) });
      }
    }
    if (open.next < open.count) state.lane(open.plugin).enqueue(open);
    if (open.out === 0) state.release(open);
  }

  #takeRetry(turn: Turn, open: OpenBlock, index: number, retry: RetryRecord): void {
    const state = this.#state;
    const { attempt, dueUs, stage, culprit } = retry;
    if (stage === 'lost') state.lane(open.plugin).lost.push({ open, index, attempt, kept: true, alone: true });
    else if (stage === 'alone') handleLost(state, turn, open, index, attempt, true);
    else if (stage === 'waiting') {
      // No longer than any retry waits, though the clock was set back meanwhile.
      const latestUs = turn.nowUs + state.policyOf(open.plugin).backoffMaxMs * 1000;
      state.delay({ dueUs: Math.min(dueUs, latestUs), open, index, attempt, culprit });
    } else {
      // Like a first attempt that was in a frame with others; and its record must not say any longer that it runs.
      state.keepRetry(turn, open, index, { attempt, dueUs, stage: 'waiting', culprit });
      state.lane(open.plugin).enqueueAgain({ open, index, attempt, kept: true, alone: true });
    }
  }

  #retriesOf(open: OpenBlock): Map<number, RetryRecord> {
    const key = open.keyBytes;
    const found = new Map<number, RetryRecord>();
    for (const entry of this.#state.reader.scan('retries', { from: jobId(key, 0), to: jobId(key, open.count) })) {
      const index = Buffer.from(entry.key).readUInt32BE(12);
      found.set(index, this.#readRetry(jobId(key, index), entry.value));
    }
    return found;
  }

  /** Where the record cannot be used the job runs again now, as what follows the last attempt that there is a log of. */
  #readRetry(id: JobId, value: Uint8Array): RetryRecord {
    const { reader, setAside } = this.#state;
    const known = setAside.read('retries', id, () => decodeRetry(value));
    if (known) return known;
    return { attempt: (latestAttempt(reader, id)?.number ?? 0) + 1, dueUs: 0, stage: 'waiting', culprit: true };
  }
}
