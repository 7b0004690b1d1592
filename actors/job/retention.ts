// Pruning removes the oldest settled jobs, with their logs and index entries, a block at a time.
import { blockKeyMs, blockOf, jobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { JobState } from './job-state.ts';
import { OpenRuns } from './open-runs.ts';
import { attemptsOf, pagesOf } from './records/attempts.ts';
import { type Block, decodeBlock } from './records/block.ts';
import { pruneNotes } from './records/cancel.ts';
import { pipelinePlugin } from './records/job.ts';
import {
  asBuffer,
  journalEntryBytes,
  prunedStatus,
  pruneMarkRecord,
  readPruneMark,
  statusAt,
  usKey,
} from './records/journal.ts';
import { keyText } from './records/open.ts';
import { pruneReruns } from './records/reruns.ts';

/** Blocks that are read in one turn, and keys of blocks that are scanned, at most. */
const blocksPerTurnMax = 4;
const keysPerTurnMax = 512;
/** Blocks that one sweep reads without pruning them, at its front and behind it each. The next sweep continues after them. */
export const passedPerSweepMax = 256;
/** Open blocks that one sweep passes without reading them, at its front and behind it each. */
const openPerSweepMax = 8192;

/** Commits of the journal whose entries are removed in this turn, by time. */
type Commits = Map<number, Buffer>;

/** The position of a walk through the blocks, and what it has passed in this sweep. */
type SweepCursor = { at: Buffer | undefined; passed: number; open: number };

/** A block that a walk passes. An open one is read only where its key does not say when it was accepted. */
type Met = { readonly key: Buffer; readonly block: Block | null; readonly isOpen: boolean; readonly createdUs: number };

/** What the steps of one turn share. */
type SweepContext = {
  readonly turn: Turn;
  readonly beforeUs: number;
  /** How many jobs more than `max_jobs` are kept. */
  surplus: number;
  readonly commits: Commits;
  readonly runs: OpenRuns;
};

/**
 * A sweep has two walks. The front goes from the oldest block to the first that is young enough, and stays there: it passes each
 * block once. The second walk goes over what the front has passed, for blocks that have ended since, and begins again when it
 * reaches the front. So a block that stays open costs a look at its key once a round, however many there are.
 */
export class Retention {
  readonly #state: JobState;
  readonly #front: SweepCursor = { at: undefined, passed: 0, open: 0 };
  readonly #behind: SweepCursor = { at: undefined, passed: 0, open: 0 };
  #isAtFront = false;
  /** The last turn that pruned. In that turn reads still show what it removed. */
  #turn: Turn | null = null;
  /** Blocks that were accepted while the clock was ahead lie before this key, and were accepted by this time at the latest. */
  #ahead: { readonly to: Uint8Array; readonly acceptedUs: number } | null = null;
  /** The sweep passes over blocks from the future that are not known yet, to learn when they were accepted. */
  #isPassing = false;
  /** The newest of the blocks that were pruned since the start, by its key. */
  #acceptedUpToUs = 0;

  constructor(state: JobState) {
    this.#state = state;
  }

  /** Prunes a little, once in a turn. True: there may be more to prune in this sweep. */
  step(turn: Turn): boolean {
    if (this.#turn === turn) return false;
    this.#turn = turn;
    const { config, completions, gauges, reader } = this.#state;
    const { jobsMs, jobsMax } = config.state.retention;
    const step: SweepContext = {
      turn,
      beforeUs: turn.nowUs - jobsMs * 1000,
      // Jobs of open runs are kept and do not count against `max_jobs`.
      surplus: completions.settledKept - gauges.get('settledInRuns') - jobsMax,
      commits: new Map(),
      runs: new OpenRuns(reader),
    };
    // The oldest first: what lies behind the front is older than what it comes to.
    const goesOn = this.#isAtFront ? this.#advance(step) : this.#lookBehind(step);
    this.#pruneJournal(turn, step.commits);
    if (goesOn) return true;
    const isSwept = this.#isAtFront;
    this.#isAtFront = !isSwept;
    for (const walk of [this.#front, this.#behind]) walk.passed = walk.open = 0;
    return !isSwept;
  }

  /** Moves the front on. False: not in this sweep any more. */
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

  /** Checks again what the front has passed. False: not in this sweep any more. */
  #lookBehind(step: SweepContext): boolean {
    if (this.#front.at === undefined) return false;
    const walk = this.#behind;
    const { met, isEnd } = this.#meet(walk.at, this.#front.at, step.turn.nowUs);
    for (const each of met) {
      this.#take(step, walk, each, this.#acceptedUs(each.key, each.createdUs, step.turn.nowUs));
    }
    if (isEnd) walk.at = undefined;
    return !isEnd && hasBudget(walk);
  }

  /** The blocks that come next, as many as a turn has time for. */
  #meet(from: Buffer | undefined, to: Buffer | undefined, nowUs: number): { met: Met[]; isEnd: boolean } {
    const { reader } = this.#state;
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
        block = decodeBlock(reader.get('blocks', key)!);
        createdUs = block.createdUs;
      }
      met.push({ key, block, isOpen, createdUs });
    }
    return { met, isEnd: keys.length < keysPerTurnMax && met.length === keys.length };
  }

  /** Prunes the block, or passes it. `acceptedUs` null: not known. */
  #take(step: SweepContext, walk: SweepCursor, { key, block, isOpen }: Met, acceptedUs: number | null): void {
    walk.at = keyAfter(key);
    if (isOpen || block === null) walk.open++;
    else if (this.#stays(step, key, block, acceptedUs)) walk.passed++;
    else {
      this.#prune(step.turn, key, block, step.commits);
      step.surplus -= block.count;
    }
  }

  #stays(
    { surplus, beforeUs, runs, turn }: SweepContext,
    key: Buffer,
    block: Block,
    acceptedUs: number | null,
  ): boolean {
    if (surplus <= 0) {
      if (acceptedUs === null || acceptedUs >= beforeUs) return true;
      if ((this.#endedUs(key, block, turn.nowUs) ?? acceptedUs) >= beforeUs) return true;
    }
    return this.#isAwaited(key, block) || runs.have(block) || this.#isOfKeptRun(block);
  }

  /** A run that a step called goes after its caller, whose result may name parts of it. */
  #isOfKeptRun(block: Block): boolean {
    if (block.plugin !== pipelinePlugin) return false;
    return block.starts.some((_, place) => {
      const caller = block.group(place).run;
      return caller !== null && this.#state.reader.peek('blocks', blockOf(caller.run)) !== undefined;
    });
  }

  /**
   * When the block was accepted, at the latest. A time in the future is that of a clock which was ahead: the block was accepted
   * before those that follow it. Null: not known yet.
   */
  #acceptedUs(key: Uint8Array, createdUs: number, nowUs: number): number | null {
    if (createdUs <= nowUs) return createdUs;
    return this.#ahead && Buffer.compare(key, this.#ahead.to) < 0 ? this.#ahead.acceptedUs : null;
  }

  /** Blocks from the future that lie before this key were accepted by this time: the sweep begins again, knowing that. */
  #learn(to: Uint8Array, acceptedUs: number): true {
    this.#ahead = { to: Buffer.from(to), acceptedUs };
    this.#isPassing = false;
    for (const walk of [this.#front, this.#behind]) {
      walk.at = undefined;
      walk.passed = walk.open = 0;
    }
    return true;
  }

  /** Whether events of its jobs are still to be read from their records. */
  #isAwaited(key: Uint8Array, block: Block): boolean {
    const range = { from: jobId(key, 0), to: jobId(key, block.count), limit: 1 };
    for (const _ of this.#state.reader.scan('emissions', range)) return true;
    return false;
  }

  /** When the last of its jobs ended; null: by a clock that was ahead, or after such a commit. */
  #endedUs(key: Uint8Array, block: Block, nowUs: number): number | null {
    let latest = 0;
    for (const { attempt } of attemptsOf(this.#state.reader, key, 0, block.count)) {
      latest = Math.max(latest, attempt.completedUs);
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
    pruneNotes(reader, turn.batch, key, block.count);
    if (block.plugin === pipelinePlugin) this.#pruneNamed(turn, key, block);
    pruneReruns(reader, turn.batch, jobId(key, 0), jobId(key, block.count));
    this.#acceptedUpToUs = Math.max(this.#acceptedUpToUs, blockKeyMs(key) * 1000);
    completions.prunedBlock(turn.batch, block.plugin, block.command, key);
    turn.batch.remove('blocks', Buffer.from(key));
  }

  /** Removes the arrivals that the runs' values in parts name. */
  #pruneNamed(turn: Turn, key: Uint8Array, { count }: Block): void {
    const range = { from: jobId(key, 0), to: jobId(key, count) };
    for (const part of this.#state.reader.keys('arrivals', range)) turn.batch.remove('arrivals', Buffer.from(part));
  }

  /** Removes the block's entries from the journal entry of this commit. */
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
    // Ids say when jobs were accepted. If the clock was set back meanwhile, that is later than their end.
    const latestUs = Math.max(upToUs, this.#acceptedUpToUs, ...commits.keys());
    turn.batch.put('meta', ...pruneMarkRecord({ upToUs: latestUs, number: number + 1 }));
  }
}

function hasBudget({ passed, open }: SweepCursor): boolean {
  return passed < passedPerSweepMax && open < openPerSweepMax;
}

/** The smallest key above all that begin with this one. */
function keyAfter(key: Uint8Array): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}

function isEmpty(page: Buffer): boolean {
  for (let at = statusAt; at < page.length; at += journalEntryBytes) if (page[at] !== prunedStatus) return false;
  return true;
}
