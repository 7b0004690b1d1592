// After a start: the unsettled jobs are read back, in steps, so that work begins while older ones still load.
import { encodeBody } from '../../runtime/host/outcome.ts';
import { jobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { Desk } from './desk.ts';
import { lostBody } from './dispatch.ts';
import { keyText, OpenBlock } from './open.ts';
import { pipelinePlugin } from './protocol.ts';
import { decodeRetry, type RetryRecord } from './retries.ts';

/** Open blocks that are read in one turn. */
const blocksPerTurnMax = 4096;

const stoppedBody = encodeBody({ error: Buffer.from('the service ended while the job ran') });

export class Recovery {
  readonly #desk: Desk;
  #from: Buffer | undefined;
  /** Blocks from here on are new: they are in memory already. */
  readonly #to: Uint8Array;

  constructor(desk: Desk, nowMs: number) {
    this.#desk = desk;
    this.#to = desk.blockKeys.next(nowMs);
  }

  /** Reads the next blocks; true when there are none left. */
  step(turn: Turn): boolean {
    const range = { ...(this.#from && { from: this.#from }), to: this.#to, limit: blocksPerTurnMax };
    let count = 0;
    for (const { key, value } of this.#desk.reader.scan('open', range)) {
      count++;
      this.#from = Buffer.concat([key, Buffer.of(0)]);
      const open = OpenBlock.decode(keyText(key), value);
      if (open.plugin !== pipelinePlugin) this.#take(turn, open);
    }
    this.#desk.sendSettled(turn);
    return count < blocksPerTurnMax;
  }

  #take(turn: Turn, open: OpenBlock): void {
    const desk = this.#desk;
    desk.unsettled += open.unsettled;
    const retries = open.retrying > 0 ? this.#retriesOf(open) : null;
    const solo = new Set(open.solo);
    const back = new Set(open.back);
    open.solo = [];
    for (let index = 0; index < open.next; index++) {
      if (open.isSettled(index)) continue;
      const retry = retries?.get(index);
      if (retry) this.#takeRetry(turn, open, index, retry);
      else if (solo.has(index)) this.#charge(turn, open, index, 1, false);
      else {
        if (!back.has(index)) {
          open.back.push(index);
          desk.touch(open);
        }
        // Who was in a frame with others may never have started: it runs alone, so that a second time is certain.
        desk.lane(open.plugin).enqueueAgain({ open, index, attempt: 1, kept: false, alone: !back.has(index) });
      }
    }
    if (open.next < open.count) desk.lane(open.plugin).enqueue(open);
    if (open.out === 0) desk.release(open);
  }

  #takeRetry(turn: Turn, open: OpenBlock, index: number, retry: RetryRecord): void {
    const desk = this.#desk;
    const { attempt, dueUs, stage, culprit } = retry;
    if (stage === 'alone') this.#charge(turn, open, index, attempt, true);
    else if (stage === 'waiting') {
      // No longer than any retry waits, though the clock was set back meanwhile.
      const latestUs = turn.nowUs + desk.policyOf(open.plugin).backoffMaxMs * 1000;
      desk.retries.push({ dueUs: Math.min(dueUs, latestUs), open, index, attempt, culprit });
    } else {
      // Like a first attempt that was in a frame with others; and its record must not say any longer that it runs.
      desk.keepRetry(turn, open, index, { attempt, dueUs, stage: 'waiting', culprit });
      desk.lane(open.plugin).enqueueAgain({ open, index, attempt, kept: true, alone: true });
    }
  }

  #charge(turn: Turn, open: OpenBlock, index: number, attempt: number, kept: boolean): void {
    const safe = this.#desk.commandOf(open)?.retrySafe ?? true;
    this.#desk.lost(turn, open, index, attempt, kept, false, safe ? stoppedBody : lostBody);
  }

  #retriesOf(open: OpenBlock): Map<number, RetryRecord> {
    const key = open.keyBytes;
    const found = new Map<number, RetryRecord>();
    for (const entry of this.#desk.reader.scan('retries', { from: jobId(key, 0), to: jobId(key, open.count) })) {
      found.set(Buffer.from(entry.key).readUInt32BE(12), decodeRetry(entry.value));
    }
    return found;
  }
}
