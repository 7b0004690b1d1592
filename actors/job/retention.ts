// Pruning: the oldest settled jobs go, with their logs and index entries, a block at a time, in idle turns.
import { blockKeyBytes, jobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import { attemptKey, decodeAttempt } from './attempt.ts';
import { type Block, decodeBlock } from './block.ts';
import { journalEntryBytes } from './books.ts';
import type { Desk } from './desk.ts';

/** Blocks that are looked at in one turn. */
const blocksPerTurnMax = 4;
const journalsPerTurnMax = 4;

export class Retention {
  readonly #desk: Desk;
  #from: Buffer | undefined;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** Prunes a little; true while there may be more to prune. The next sweep starts at the oldest block again. */
  step(turn: Turn): boolean {
    const desk = this.#desk;
    const { jobsMs, jobsMax } = desk.config.state.retention;
    const beforeUs = turn.nowUs - jobsMs * 1000;
    let surplus = desk.books.settledKept - jobsMax;
    let looked = 0;
    this.#pruneJournal(turn);
    for (const { key, value } of desk.reader.scan('blocks', {
      ...(this.#from && { from: this.#from }),
      limit: blocksPerTurnMax,
    })) {
      looked++;
      this.#from = Buffer.concat([key, Buffer.of(0)]);
      const block = decodeBlock(value);
      if (surplus <= 0 && block.createdUs >= beforeUs) return this.#end();
      if (desk.reader.get('open', key)) continue;
      if (surplus <= 0 && this.#endedUs(key, block) >= beforeUs) continue;
      this.#prune(turn, key, block);
      surplus -= block.count;
    }
    return looked === blocksPerTurnMax || this.#end();
  }

  #end(): boolean {
    this.#from = undefined;
    return false;
  }

  /** When the last of its jobs ended. */
  #endedUs(key: Uint8Array, block: Block): number {
    let latest = 0;
    const range = { from: attemptKey(jobId(key, 0), 0), to: attemptKey(jobId(key, block.count), 0) };
    for (const { value } of this.#desk.reader.scan('attempts', range)) {
      latest = Math.max(latest, decodeAttempt(value).completedUs);
    }
    return latest;
  }

  #prune(turn: Turn, key: Uint8Array, block: Block): void {
    const { reader, books } = this.#desk;
    const range = { from: attemptKey(jobId(key, 0), 0), to: attemptKey(jobId(key, block.count), 0) };
    for (const attempt of reader.scan('attempts', range)) {
      turn.batch.remove('attempts', Buffer.from(attempt.key));
      const { final, status } = decodeAttempt(attempt.value);
      if (final) books.pruned(block.plugin, block.command, status);
    }
    for (const place of block.starts.keys()) {
      const { root } = block.group(place);
      if (root) turn.batch.remove('tree', Buffer.concat([root, key]));
    }
    turn.batch.remove('blocks', Buffer.from(key));
  }

  /** The oldest entries of the journal whose jobs are all gone. */
  #pruneJournal(turn: Turn): void {
    const { reader } = this.#desk;
    for (const { key, value } of reader.scan('journal', { limit: journalsPerTurnMax })) {
      for (let at = 0; at < value.length; at += journalEntryBytes) {
        if (reader.get('blocks', value.subarray(at, at + blockKeyBytes))) return;
      }
      turn.batch.remove('journal', Buffer.from(key));
    }
  }
}
