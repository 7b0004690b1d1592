// Reads the unsettled jobs from the store after the actors have started, some in each turn. Jobs that have been read can already run.

import { keyAfter } from '../../runtime/bytes.ts';
import { jobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { AdoptedBlock } from './adoption.ts';
import { endWaiting } from './cancel/cancelled-jobs.ts';
import { recover } from './custody.ts';
import type { JobState } from './job-state.ts';
import { latestAttempt } from './records/attempts.ts';
import { isHosted } from './records/job.ts';
import { attemptOf, type KeyText, keyText, OpenBlock } from './records/open.ts';
import type { RetryRecord } from './records/retry.ts';

/** The maximum number of open records that one turn reads. */
const blocksPerTurnMax = 4096;
const noIndexes: ReadonlySet<number> = new Set();

export class Recovery {
  readonly #state: JobState;
  #from: Buffer | undefined;
  /** Blocks from this key on were created after the start, and need no recovery. */
  readonly #to: Uint8Array;
  /** The open blocks of the frames that hosts had when the actors started. */
  #adopted: ReadonlyMap<KeyText, AdoptedBlock> = new Map();

  constructor(state: JobState, nowMs: number) {
    this.#state = state;
    this.#to = state.blockKeys.next(nowMs);
    state.completions.nothingRuns();
  }

  /** Adds the open blocks of the frames that hosts had, and recovers the jobs of these blocks that are in no adopted frame. */
  adopt(turn: Turn, adopted: ReadonlyMap<KeyText, AdoptedBlock>): void {
    this.#adopted = adopted;
    const { blocks: marked } = this.#state.cancels;
    for (const { open, held } of adopted.values()) {
      this.#state.completions.settledInOpen.note(open);
      this.#take(turn, open, held, marked);
    }
  }

  /** Reads the next blocks. Sets `isLoaded` when no blocks are left to read. */
  step(turn: Turn): void {
    const range = { ...(this.#from && { from: this.#from }), to: this.#to, limit: blocksPerTurnMax };
    const { blocks: marked } = this.#state.cancels;
    let count = 0;
    for (const { key, value } of this.#state.reader.scan('open', range)) {
      if (count > 0 && turn.isSpent) return;
      count++;
      this.#from = keyAfter(key);
      const name = keyText(key);
      if (this.#adopted.has(name)) continue;
      const open = this.#state.setAside.read('open', key, () => OpenBlock.decode(name, value));
      if (!open) continue;
      this.#state.completions.settledInOpen.note(open);
      if (isHosted(open.plugin)) this.#take(turn, open, noIndexes, marked);
    }
    if (count === blocksPerTurnMax) return;
    this.#state.isLoaded = true;
    this.#endPassed(turn);
  }

  /** Ends delayed jobs that were cancelled after `step` had skipped their blocks. */
  #endPassed(turn: Turn): void {
    const { cancels, open } = this.#state;
    for (const key of cancels.blocks) {
      const passed = open.has(key) ? undefined : this.#state.find(Buffer.from(key, 'latin1'));
      if (passed) endMarked(this.#state, turn, passed);
    }
  }

  /**
   * Adds the block to the state, and recovers its jobs. `held`: the indexes of jobs that hosts have, which need no recovery. `marked`: the
   * blocks with cancelled jobs. A block that is not in `marked` is skipped if its unsettled jobs are all delayed.
   */
  #take(turn: Turn, open: OpenBlock, held: ReadonlySet<number>, marked: ReadonlySet<KeyText>): void {
    const state = this.#state;
    state.unsettled += open.unsettled - open.delayed;
    // A block whose unsettled jobs are all delayed stays only on disk until one of them is due, or `JobState.find` reads the block.
    const isMarked = marked.has(open.key);
    if (open.delayed === open.unsettled && !isMarked) return;
    state.open.set(open.key, open);
    for (let index = 0; index < open.next; index++) {
      if (!open.isSettled(index) && !open.isDelayed(index) && !held.has(index))
        recover(state, turn, { open, index, ...this.#attemptOf(open, index) });
    }
    if (open.next < open.count && open.delayed === 0) state.lane(open.plugin).enqueue(open);
    if (isMarked) endMarked(state, turn, open);
    if (open.inFlight === 0) state.release(open);
  }

  /**
   * The running or next attempt of the job. If its record is unusable, the job runs again now, as a suspect, with the attempt after the
   * last logged one, or with attempt 2 if none is logged.
   */
  #attemptOf(open: OpenBlock, index: number): RetryRecord {
    const { reader, setAside } = this.#state;
    const id = jobId(open.keyBytes, index);
    const known = setAside.read('retries', id, () => attemptOf(reader, open, index));
    if (known) return known;
    // If the job has no log, the unusable record belonged to a first attempt in the custody `lost`. This attempt counts as ended.
    const last = latestAttempt(reader, id)?.number ?? 1;
    return { attempt: last + 1, custody: 'suspect', dueUs: 0 };
  }
}

/** Ends jobs that were cancelled before recovery reached them, if they were never dispatched. */
function endMarked(state: JobState, turn: Turn, open: OpenBlock): void {
  const marked = new Set<number>();
  for (let index = 0; index < open.count; index++) {
    if (index < open.next && !open.isDelayed(index)) continue;
    if (!open.isSettled(index) && state.cancels.of(jobId(open.keyBytes, index))) marked.add(index);
  }
  if (marked.size > 0) endWaiting(state, turn, new Map([[open, marked]]));
}
