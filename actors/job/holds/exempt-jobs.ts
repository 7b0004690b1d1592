// Finds the exempt jobs (exempt.ts) that wait in held lanes, and moves them to the quarantine.
import { keyAfter } from '../../../runtime/bytes.ts';
import { blockKeyBytes, blockOf, indexOf, type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { readRunDeadlineKey } from '../../pipeline/records/run-deadline.ts';
import { enqueue } from '../dispatch/enqueue.ts';
import type { JobState } from '../job-state.ts';
import { firstAttempt } from '../open-attempt.ts';
import { findBlock, groupOf } from '../records/block.ts';
import { keyText, type OpenBlock } from '../records/open.ts';
import { treeRange } from '../records/tree.ts';
import { isExempt } from './exempt.ts';

/** The maximum number of deadlines that one call of `step` reads. */
const runsPerTurnMax = 256;

/** Less than every key in the table `run_deadlines`. */
const start = Buffer.of(0);

/** Finds jobs that wait in held lanes but are exempt from the pause of the service. For instance, they were queued before the pause began. */
export class ExemptJobs {
  readonly #state: JobState;
  /** Whether the service was paused, with exemptions, at the last call of `step`. */
  #isPaused = false;
  /** The key at which the search among the deadlines of runs continues; null: the search is complete. */
  #from: Uint8Array | null = start;

  constructor(state: JobState) {
    this.#state = state;
  }

  /** While the service is paused, continues the search for exempt jobs. True: another turn must follow. */
  step(turn: Turn): boolean {
    const { pauses, isLoaded } = this.#state;
    const wasPaused = this.#isPaused;
    this.#isPaused = pauses.haveExemptions;
    if (!this.#isPaused) {
      if (wasPaused) this.#giveBack();
      this.#from = start;
      return false;
    }
    if (!isLoaded || this.#from === null) return false;
    this.#search(turn, this.#from);
    return this.#from !== null;
  }

  /**
   * Reads the next deadlines of runs, and moves the exempt jobs of runs that are in a phase to the quarantine. Does not find a run whose
   * phase has passed its time limit; such a run is being stopped.
   */
  #search(turn: Turn, from: Uint8Array): void {
    const { reader, openRuns } = this.#state;
    const keys = Array.from(reader.keys('run_deadlines', { from, limit: runsPerTurnMax }), key => Buffer.from(key));
    for (const key of keys) {
      const found = readRunDeadlineKey(key);
      const sinceUs = found?.deadline[1] === 'phase' ? openRuns.exemptSince(found.run) : null;
      if (sinceUs !== null) this.#exempt(turn, found!.run, sinceUs);
      this.#from = keyAfter(key);
      if (turn.isSpent) return;
    }
    if (keys.length < runsPerTurnMax) this.#from = null;
  }

  /**
   * Moves the waiting exempt jobs of the run's tree to the quarantine. Examines only blocks that were accepted at `sinceUs` or later,
   * because the run's phase did not begin earlier.
   */
  #exempt(turn: Turn, run: JobId, sinceUs: number): void {
    const state = this.#state;
    const block = state.setAside.read('blocks', blockOf(run), () => findBlock(state.reader, run) ?? null);
    if (!block) return;
    const root = groupOf(block, indexOf(run)).group.root ?? run;
    const from = Buffer.concat([root, Buffer.alloc(blockKeyBytes)]);
    from.writeUIntBE(Math.floor(sinceUs / 1000), jobIdBytes, 6);
    for (const key of state.reader.keys('tree', { ...treeRange(root), from })) {
      const open = state.open.get(keyText(key.subarray(jobIdBytes)));
      if (open) this.#exemptJobsOf(turn, open);
    }
  }

  #exemptJobsOf(turn: Turn, open: OpenBlock): void {
    const state = this.#state;
    const block = state.load(open);
    if (!block.starts.some(index => isExempt(state, { open, index }))) {
      state.releaseLoaded(open);
      return;
    }
    const lane = state.lane(open.plugin);
    const { next } = open;
    for (let index = 0; index < next; index++) {
      if (open.isSettled(index) || !isExempt(state, { open, index })) continue;
      const job = lane.withdraw(open, index) ?? lane.heldByCommand.get(open.command)?.withdraw(open, index);
      if (job) state.suspects.push(job);
    }
    // The jobs that were never dispatched are queued one by one.
    const { untouched } = open;
    if (untouched > 0) open.waitsIn!.changeWaiting(open.command, -untouched);
    open.next = open.count;
    for (let index = next; index < open.count; index++)
      if (!open.isSettled(index)) enqueue(state, state.move(turn, firstAttempt(open, index), 'waiting', 0));
    if (open.inFlight === 0) state.release(open);
  }

  /** Called when the pause has ended. Exempt jobs that still wait return to their lanes, unless they are suspects. */
  #giveBack(): void {
    const { suspects } = this.#state;
    for (const job of suspects.splice(0)) {
      if (job.custody === 'waiting') this.#state.lane(job.open.plugin).enqueueAttempt(job);
      else suspects.push(job);
    }
  }
}
