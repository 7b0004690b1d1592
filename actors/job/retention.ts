// Pruning: the oldest settled jobs go, with their logs and index entries, a block at a time, in idle turns.
import { jobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import { attemptsOf, stretchesOf } from './attempts.ts';
import { type Block, decodeBlock } from './block.ts';
import type { Desk } from './desk.ts';
import { asBuffer, journalEntryBytes, prunedRecord, prunedStatus, readPruned, statusAt, usKey } from './journal.ts';

/** Blocks that are looked at in one turn. */
const blocksPerTurnMax = 4;

/** Commits of the journal that lose entries in this turn, by their time. */
type Commits = Map<number, Buffer>;

export class Retention {
  readonly #desk: Desk;
  #from: Buffer | undefined;
  /** The last that pruned: in it, what it has removed can still be read. */
  #turn: Turn | null = null;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** Prunes a little, once in a turn; true while there may be more to prune. The next sweep starts at the oldest block again. */
  step(turn: Turn): boolean {
    if (this.#turn === turn) return false;
    this.#turn = turn;
    const desk = this.#desk;
    const { jobsMs, jobsMax } = desk.config.state.retention;
    const beforeUs = turn.nowUs - jobsMs * 1000;
    const commits: Commits = new Map();
    let surplus = desk.books.settledKept - jobsMax;
    let looked = 0;
    for (const { key, value } of desk.reader.scan('blocks', {
      ...(this.#from && { from: this.#from }),
      limit: blocksPerTurnMax,
    })) {
      looked++;
      this.#from = Buffer.concat([key, Buffer.of(0)]);
      const block = decodeBlock(value);
      if (surplus <= 0 && block.createdUs >= beforeUs) {
        looked = 0;
        break;
      }
      if (desk.reader.get('open', key) || this.#isAwaited(key, block)) continue;
      if (surplus <= 0 && this.#endedUs(key, block) >= beforeUs) continue;
      this.#prune(turn, key, block, commits);
      surplus -= block.count;
    }
    this.#pruneJournal(turn, commits);
    if (looked === blocksPerTurnMax) return true;
    this.#from = undefined;
    return false;
  }

  /** Whether events of its jobs are still to be taken out of their records. */
  #isAwaited(key: Uint8Array, block: Block): boolean {
    const range = { from: jobId(key, 0), to: jobId(key, block.count), limit: 1 };
    for (const _ of this.#desk.reader.scan('emissions', range)) return true;
    return false;
  }

  /** When the last of its jobs ended. */
  #endedUs(key: Uint8Array, block: Block): number {
    let latest = 0;
    for (const { attempt } of attemptsOf(this.#desk.reader, key, 0, block.count)) {
      latest = Math.max(latest, attempt.completedUs);
    }
    return latest;
  }

  #prune(turn: Turn, key: Uint8Array, block: Block, commits: Commits): void {
    const { reader, books } = this.#desk;
    const timesUs = new Set<number>();
    for (const stretch of stretchesOf(reader, key, 0, block.count)) {
      stretch.remove(turn.batch);
      for (let index = stretch.first; index < stretch.first + stretch.count; index++) {
        const attempt = stretch.attempt(index)!;
        books.pruned(turn.batch, block.plugin, block.command, jobId(key, index), attempt);
        timesUs.add(attempt.completedUs);
      }
    }
    for (const us of timesUs) this.#strike(key, us, commits);
    for (const place of block.starts.keys()) {
      const { root } = block.group(place);
      if (root) turn.batch.remove('tree', Buffer.concat([root, key]));
    }
    books.prunedBlock(turn.batch, block.plugin, block.command, key);
    turn.batch.remove('blocks', Buffer.from(key));
  }

  /** Takes the block's entries out of the journal's page of this time. */
  #strike(key: Uint8Array, us: number, commits: Commits): void {
    let page = commits.get(us);
    if (!page) {
      const value = this.#desk.reader.get('journal', usKey(us));
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
    const { upToUs, number } = readPruned(this.#desk.reader);
    for (const [us, page] of commits) {
      if (isEmpty(page)) turn.batch.remove('journal', usKey(us));
      else turn.batch.put('journal', usKey(us), page);
    }
    turn.batch.put('meta', ...prunedRecord({ upToUs: Math.max(upToUs, ...commits.keys()), number: number + 1 }));
  }
}

function isEmpty(page: Buffer): boolean {
  for (let at = statusAt; at < page.length; at += journalEntryBytes) if (page[at] !== prunedStatus) return false;
  return true;
}
