// Removes the oldest settled jobs, block by block, with their logs and their entries in other tables.
import { keyAfter } from '../../../runtime/bytes.ts';
import { blockKeyMs, blockOf, jobId } from '../../../runtime/ids.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { isNeeded, isTreeNeeded, pruneReuse } from '../../pipeline/records/reuse.ts';
import type { NeedsBlock } from '../actions/new-reruns.ts';
import type { JobState } from '../job-state.ts';
import { attemptsOf, pagesOf } from '../records/attempts.ts';
import { type Block, decodeWhole } from '../records/block.ts';
import { pruneNotes } from '../records/cancel.ts';
import { pipelinePlugin } from '../records/job.ts';
import {
  asBuffer,
  journalEntryBytes,
  prunedStatus,
  pruneMarkRecord,
  readPruneMark,
  statusAt,
  usKey,
} from '../records/journal.ts';
import { keyText } from '../records/open.ts';
import { dependents, haveOpenReruns, pruneReruns } from '../records/reruns.ts';
import { pruneRescheduled } from '../records/rescheduled.ts';
import { pruneTagged } from '../records/tags.ts';
import { LostJobs } from './lost-jobs.ts';
import { OpenRuns } from './open-runs.ts';

/** The maximum number of blocks that one turn reads. */
const blocksPerTurnMax = 4;
/** The maximum number of block keys that one turn scans. */
const keysPerTurnMax = 512;
/** When a walk (see `Retention`) has read this many blocks without pruning them, it continues only in the next sweep. */
export const passedPerSweepMax = 256;
/** When a walk has passed this many open or unusable blocks, it continues only in the next sweep. */
const openPerSweepMax = 8192;

/** The values of the journal in which this turn marks entries as pruned, by the time of their commit. */
type Commits = Map<number, Buffer>;

/**
 * A walk through the blocks. `at`: its position. `passed`: the number of settled blocks that it has passed in this sweep. `open`: the number
 * of open or unusable blocks that it has passed in this sweep.
 */
type SweepCursor = { at: Buffer | undefined; passed: number; open: number };

/**
 * A block that a walk has reached. `block` null: the block is unusable, or it is open and was not read; `createdUs` is then the time in its
 * key.
 */
type Met = { readonly key: Buffer; readonly block: Block | null; readonly isOpen: boolean; readonly createdUs: number };

/** The data of one call of `step`. */
type SweepContext = {
  readonly turn: Turn;
  readonly beforeUs: number;
  /** The number of settled jobs in excess of `max_jobs`, excluding those of open blocks and open runs. */
  surplus: number;
  readonly commits: Commits;
  readonly runs: OpenRuns;
  readonly lost: LostJobs;
  readonly isNeeded: NeedsBlock;
};

/**
 * A sweep has two walks. One walk, the front, moves from the oldest block to the first block that neither its age nor `max_jobs` removes,
 * and waits there. The other walk checks the blocks behind the front again, because their jobs may have ended in the meantime, and starts
 * over when it reaches the front. For most open blocks, the walks read only the key.
 */
export class Retention {
  readonly #state: JobState;
  readonly #front: SweepCursor = { at: undefined, passed: 0, open: 0 };
  readonly #behind: SweepCursor = { at: undefined, passed: 0, open: 0 };
  #isAtFront = false;
  /** Set if the clock was ahead: blocks with a time in the future and a key below `to` were in fact accepted at `acceptedUs` or earlier. */
  #ahead: { readonly to: Uint8Array; readonly acceptedUs: number } | null = null;
  /** Whether the sweep passes over blocks with times in the future, to find out when they were accepted. */
  #isPassing = false;
  /** The latest time in the keys of the blocks that were pruned since the start. */
  #acceptedUpToUs = 0;
  /** The number of settled jobs that count against `max_jobs`, as of the end of the previous turn, which is what reads of the store show. */
  #counted = 0;

  constructor(state: JobState) {
    this.#state = state;
  }

  /**
   * Prunes some blocks. True: this sweep may have more to prune. Must be called at most once per turn, after everything else that reads
   * jobs, because reads show the pruned jobs until the commit.
   */
  step(turn: Turn): boolean {
    const { config, newReruns, reader, setAside } = this.#state;
    const { jobsMs, jobsMax } = config.state.retention;
    const step: SweepContext = {
      turn,
      beforeUs: turn.nowUs - jobsMs * 1000,
      surplus: this.#counted - jobsMax,
      commits: new Map(),
      runs: new OpenRuns(reader, setAside),
      lost: new LostJobs(reader, setAside),
      isNeeded: newReruns.needs(reader),
    };
    // The walk behind the front comes first, because its blocks are older than those that the front reaches.
    const goesOn = this.#isAtFront ? this.#advance(step) : this.#checkBehind(step);
    this.#pruneJournal(turn, step.commits);
    step.lost.flush(turn.batch);
    if (goesOn) return true;
    const isSwept = this.#isAtFront;
    this.#isAtFront = !isSwept;
    for (const walk of [this.#front, this.#behind]) walk.passed = walk.open = 0;
    return !isSwept;
  }

  /** Must be called at the end of each turn. */
  close(): void {
    const { completions, gauges, isLoaded } = this.#state;
    // Jobs of open blocks and open runs cannot be removed, and do not count. A job of both is subtracted twice: this keeps too many jobs
    // rather than too few.
    const keptByOpen = completions.settledInOpen.jobs + gauges.get('settledInRuns');
    this.#counted = isLoaded ? completions.settledKept - keptByOpen : 0;
  }

  /** Advances the front. False: the front advances no further in this sweep. */
  #advance(step: SweepContext): boolean {
    const { nowUs } = step.turn;
    const walk = this.#front;
    const { met, isEnd } = this.#meet(walk.at, undefined, nowUs);
    for (const each of met) {
      const acceptedUs = this.#acceptedUs(each.key, each.createdUs, nowUs);
      if (step.surplus <= 0) {
        if (acceptedUs === null) this.#isPassing = true;
        else if (this.#isPassing) return this.#learn(each.key, acceptedUs);
        else if (acceptedUs >= step.beforeUs) {
          walk.at = each.key;
          return false;
        }
      }
      this.#take(step, walk, each, acceptedUs);
    }
    if (isEnd && this.#isPassing) return this.#learn(walk.at!, nowUs);
    return !isEnd && hasBudget(walk);
  }

  /** Checks the blocks behind the front again. False: this sweep checks no more of them. */
  #checkBehind(step: SweepContext): boolean {
    if (this.#front.at === undefined) return false;
    const walk = this.#behind;
    const { met, isEnd } = this.#meet(walk.at, this.#front.at, step.turn.nowUs);
    for (const each of met) {
      this.#take(step, walk, each, this.#acceptedUs(each.key, each.createdUs, step.turn.nowUs));
    }
    if (isEnd) walk.at = undefined;
    return !isEnd && hasBudget(walk);
  }

  /**
   * The next blocks with keys from `from` up to, not including, `to`, as many as one turn may read. `isEnd` true: no block follows them in
   * this range. False: some may follow.
   */
  #meet(from: Buffer | undefined, to: Buffer | undefined, nowUs: number): { met: Met[]; isEnd: boolean } {
    const { reader, setAside } = this.#state;
    const range = { ...(from && { from }), ...(to && { to }), limit: keysPerTurnMax };
    const keys = Array.from(reader.keys('blocks', range), key => Buffer.from(key));
    const met: Met[] = [];
    if (keys.length === 0) return { met, isEnd: true };
    const open = new Set<string>();
    for (const key of reader.keys('open', { from: keys[0]!, to: keyAfter(keys.at(-1)!) })) open.add(keyText(key));
    let read = 0;
    for (const key of keys) {
      const isOpen = open.has(keyText(key));
      let createdUs = blockKeyMs(key) * 1000;
      let block: Block | null = null;
      if (!isOpen || createdUs > nowUs) {
        if (read++ === blocksPerTurnMax) break;
        block = setAside.read('blocks', key, () => decodeWhole(reader.get('blocks', key)!)) ?? null;
        if (block) createdUs = block.createdUs;
      }
      met.push({ key, block, isOpen, createdUs });
    }
    return { met, isEnd: keys.length < keysPerTurnMax && met.length === keys.length };
  }

  /** Prunes the block, or passes over it. `acceptedUs`: the block was accepted at this time or earlier; null: unknown. */
  #take(step: SweepContext, walk: SweepCursor, { key, block, isOpen }: Met, acceptedUs: number | null): void {
    walk.at = keyAfter(key);
    if (isOpen || block === null) walk.open++;
    else if (this.#stays(step, key, block, acceptedUs)) walk.passed++;
    else {
      step.lost.prune(key, block);
      this.#prune(step.turn, key, block, step.commits);
      step.surplus -= block.count;
    }
  }

  #stays(
    { surplus, beforeUs, runs, isNeeded, turn }: SweepContext,
    key: Buffer,
    block: Block,
    acceptedUs: number | null,
  ): boolean {
    const mayBeYoung = surplus <= 0;
    if (mayBeYoung && (acceptedUs === null || acceptedUs >= beforeUs)) return true;
    const endedUs = this.#state.setAside.read('attempts', jobId(key, 0), () => this.#endedUs(key, block, turn.nowUs));
    // Unusable attempts stay, and so does their block.
    if (endedUs === undefined) return true;
    if (mayBeYoung && (endedUs ?? acceptedUs!) >= beforeUs) return true;
    if (this.#isAwaited(key, block) || this.#isDetached(key, block) || runs.have(block)) return true;
    if (isNeeded(key, block) || this.#isOfKeptRun(key, block) || this.#isTakenOver(key, block)) return true;
    return haveOpenReruns(this.#state.reader, jobId(key, 0), jobId(key, block.count));
  }

  /**
   * Whether a run of the block must stay because of another job that is stored. A called run is removed after its caller. A run
   * is removed after its reruns `from: failed`, and after other reruns whose payloads refer to values that the run has stored.
   */
  #isOfKeptRun(key: Buffer, block: Block): boolean {
    if (block.plugin !== pipelinePlugin) return false;
    for (const rerun of dependents(this.#state.reader, jobId(key, 0), jobId(key, block.count))) {
      if (this.#state.reader.peek('blocks', blockOf(rerun)) !== undefined) return true;
    }
    return block.starts.some((_, place) => {
      const caller = block.group(place).run;
      return caller !== null && this.#state.reader.peek('blocks', blockOf(caller.run)) !== undefined;
    });
  }

  /** Whether an open rerun may reuse jobs of a tree that the block is part of. */
  #isTakenOver(key: Buffer, block: Block): boolean {
    const { reader } = this.#state;
    if (reader.count('reuse_needs') === 0) return false;
    if (isNeeded(reader, jobId(key, 0), jobId(key, block.count))) return true;
    const roots = new Set(block.starts.map((_, place) => block.group(place).root).filter(root => root !== null));
    return [...roots].some(root => isTreeNeeded(reader, root));
  }

  /**
   * The latest time at which the block may have been accepted; null: not known yet. If the block's time lies in the future, the clock was
   * ahead at its acceptance. Then the times of the blocks that follow give the limit.
   */
  #acceptedUs(key: Uint8Array, createdUs: number, nowUs: number): number | null {
    if (createdUs <= nowUs) return createdUs;
    return this.#ahead && Buffer.compare(key, this.#ahead.to) < 0 ? this.#ahead.acceptedUs : null;
  }

  /**
   * Records that blocks with a time in the future and a key below `to` were accepted at `acceptedUs` or earlier, and restarts both
   * walks.
   */
  #learn(to: Uint8Array, acceptedUs: number): true {
    this.#ahead = { to: Buffer.from(to), acceptedUs };
    this.#isPassing = false;
    for (const walk of [this.#front, this.#behind]) {
      walk.at = undefined;
      walk.passed = walk.open = 0;
    }
    return true;
  }

  /** Whether events or hooks of the block's jobs still wait to start runs. The ledger will read these events from the attempts of the jobs. */
  #isAwaited(key: Uint8Array, block: Block): boolean {
    const range = { from: jobId(key, 0), to: jobId(key, block.count), limit: 1 };
    for (const _ of this.#state.reader.scan('emissions', range)) return true;
    return false;
  }

  /** Whether a run of the block has a detached cancel: the cancel may yet cover runs that events of the run's jobs start. */
  #isDetached(key: Uint8Array, { count }: Block): boolean {
    const { detached } = this.#state.cancels;
    for (let index = 0; detached.size > 0 && index < count; index++) if (detached.of(jobId(key, index))) return true;
    return false;
  }

  /** When the last of the block's jobs ended. Null: unknown, because the clock was ahead. Throws if an attempt of the block is unusable. */
  #endedUs(key: Uint8Array, block: Block, nowUs: number): number | null {
    let latest = 0;
    for (const { attempt } of attemptsOf(this.#state.reader, key, 0, block.count)) {
      const { status, completedUs } = attempt;
      if (status === undefined || !(completedUs >= 0 && completedUs <= Number.MAX_SAFE_INTEGER))
        throw new Error('an attempt of the block has no valid status or time');
      latest = Math.max(latest, completedUs);
    }
    return latest <= nowUs ? latest : null;
  }

  #prune(turn: Turn, key: Uint8Array, block: Block, commits: Commits): void {
    const { reader, completions } = this.#state;
    const timesUs = new Set<number>();
    for (const page of pagesOf(reader, key, 0, block.count)) {
      page.remove(turn.batch);
      for (let index = page.first; index < page.first + page.count; index++) {
        const attempt = page.attempt(index)!;
        completions.pruned(turn.batch, block.plugin, block.command, jobId(key, index), page.number, attempt);
        timesUs.add(attempt.completedUs);
      }
    }
    for (const us of timesUs) this.#strike(key, us, commits);
    for (const place of block.starts.keys()) {
      const { root } = block.group(place);
      if (root) turn.batch.remove('tree', Buffer.concat([root, key]));
    }
    pruneTagged(reader, turn.batch, key);
    pruneNotes(reader, turn.batch, key, block.count);
    pruneRescheduled(reader, turn.batch, key, block.count);
    if (block.plugin === pipelinePlugin) this.#pruneNamed(turn, key, block);
    pruneReruns(reader, turn.batch, jobId(key, 0), jobId(key, block.count));
    pruneReuse(reader, turn.batch, key, block.count);
    this.#acceptedUpToUs = Math.max(this.#acceptedUpToUs, blockKeyMs(key) * 1000);
    completions.prunedBlock(turn.batch, block.plugin, block.command, key);
    turn.batch.remove('blocks', Buffer.from(key));
  }

  /** Removes the values of the block's runs from `arrivals`. They were kept when the runs ended, because values in parts refer to them. */
  #pruneNamed(turn: Turn, key: Uint8Array, { count }: Block): void {
    const range = { from: jobId(key, 0), to: jobId(key, count) };
    for (const part of this.#state.reader.keys('arrivals', range)) turn.batch.remove('arrivals', Buffer.from(part));
  }

  /** Marks the entries of the block's attempts as pruned. `us`: the time of the commit whose journal value has these entries. */
  #strike(key: Uint8Array, us: number, commits: Commits): void {
    let page = commits.get(us);
    if (!page) {
      const value = this.#state.reader.get('journal', usKey(us));
      if (!value) return;
      page = Buffer.from(value);
      commits.set(us, page);
    }
    const block = asBuffer(key);
    for (let at = 0; at < page.length; at += journalEntryBytes) {
      if (page.compare(block, 0, block.length, at, at + block.length) === 0) page[at + statusAt] = prunedStatus;
    }
  }

  #pruneJournal(turn: Turn, commits: Commits): void {
    if (commits.size === 0) return;
    const { upToUs, number } = readPruneMark(this.#state.reader);
    for (const [us, page] of commits) {
      if (isEmpty(page)) turn.batch.remove('journal', usKey(us));
      else turn.batch.put('journal', usKey(us), page);
    }
    // After the clock was set back, a job can end before the time in its block's key. The mark is not earlier than either time.
    const latestUs = Math.max(upToUs, this.#acceptedUpToUs, ...commits.keys());
    turn.batch.put('meta', ...pruneMarkRecord({ upToUs: latestUs, number: number + 1 }));
  }
}

function hasBudget({ passed, open }: SweepCursor): boolean {
  return passed < passedPerSweepMax && open < openPerSweepMax;
}

function isEmpty(page: Buffer): boolean {
  for (let at = statusAt; at < page.length; at += journalEntryBytes) if (page[at] !== prunedStatus) return false;
  return true;
}
