// The times of jobs: when delayed jobs run, when jobs expire, and when their deadlines pass. For a block without times, a lookup costs
// one comparison. Timers stay in the store; memory has only the time of the next timer.
import { keyAfter } from '../../../runtime/bytes.ts';
import { earlier } from '../../../runtime/clock.ts';
import { type BlockKey, blockKeyBytes, type JobId, jobId } from '../../../runtime/ids.ts';
import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { type Block, groupEnd, groupOf } from '../records/block.ts';
import { usKey } from '../records/journal.ts';
import { keyText, type OpenBlock } from '../records/open.ts';
import { areTimed, type JobTimes, timesOf } from '../records/options.ts';
import { decodeRescheduled, putRescheduled, rescheduledIn } from '../records/rescheduled.ts';
import { decodeTimer, nextTimerUs, putTimer, type Timer, timerKey, timersOf } from '../records/timer.ts';

const timersPerScan = 64;

export class JobTimesTable {
  readonly #reader: Reader;
  readonly #setAside: SetAside;
  /** By job: the new times, in µs, of the jobs that this turn has rescheduled. Reads of the store show these times from the next turn on. */
  readonly #rescheduled = new Map<string, number>();
  /** The time of the next timer to handle, in µs, or an earlier time. Null: there is no such timer. */
  nextUs: number | null;
  /** The time of the earliest timer that this turn has set, in µs. Null: the turn has set no timer. */
  #setUs: number | null = null;

  constructor(reader: Reader, setAside: SetAside) {
    this.#reader = reader;
    this.#setAside = setAside;
    this.nextUs = nextTimerUs(reader, null);
  }

  /** The times of a job. Null: the job has no times. */
  of(open: OpenBlock, block: Block, index: number): JobTimes | null {
    if (!open.isTimed) return null;
    const { options } = groupOf(block, index).group;
    if (!areTimed(options)) return null;
    return timesOf(options, block.createdUs, this.#newTimeOf(open, index));
  }

  /** The job's new time, in µs, if it was rescheduled. Undefined: the original time counts, also if the record of the new time is unusable. */
  #newTimeOf(open: OpenBlock, index: number): number | undefined {
    if (open.rescheduled === 0) return undefined;
    const id = jobId(open.keyBytes, index);
    const fresh = this.#rescheduled.get(keyText(id));
    if (fresh !== undefined) return fresh;
    const value = this.#reader.get('rescheduled', id);
    return value && this.#setAside.read('rescheduled', id, () => decodeRescheduled(value));
  }

  /** Sets the timers of a new block. */
  begin(turn: Turn, key: BlockKey, block: Block): void {
    for (const [place, first] of block.starts.entries()) {
      const { options } = block.group(place);
      if (!areTimed(options)) continue;
      const jobs = { block: key, first, count: groupEnd(block, place) - first, isOwn: false };
      this.#set(turn, jobs, block, timesOf(options, block.createdUs));
    }
  }

  /** Gives the delayed job another time, and timers of its own. */
  reschedule(turn: Turn, open: OpenBlock, block: Block, index: number, runAtUs: number): void {
    const id = jobId(open.keyBytes, index);
    const jobs = { block: open.keyBytes, first: index, count: 1, isOwn: true };
    const before = this.#newTimeOf(open, index);
    const { options } = groupOf(block, index).group;
    if (!areTimed(options)) throw new Error('a job without times cannot be rescheduled');
    if (before === undefined) open.rescheduled++;
    else this.#remove(turn.batch, jobs, block, timesOf(options, block.createdUs, before));
    putRescheduled(turn.batch, id, runAtUs);
    this.#rescheduled.set(keyText(id), runAtUs);
    this.#set(turn, jobs, block, timesOf(options, block.createdUs, runAtUs));
  }

  /** Removes the block's remaining timers. Called when all jobs of the block have ended. */
  end(batch: Batch, open: OpenBlock, block: Block): void {
    for (const [place, first] of block.starts.entries()) {
      const { options } = block.group(place);
      if (!areTimed(options)) continue;
      const jobs = { block: open.keyBytes, first, isOwn: false };
      this.#remove(batch, jobs, block, timesOf(options, block.createdUs));
    }
    if (open.rescheduled === 0) return;
    for (const [id, runAtUs] of this.#rescheduledIn(open)) {
      const first = Buffer.from(id).readUInt32BE(blockKeyBytes);
      const { options } = groupOf(block, first).group;
      if (!areTimed(options)) continue;
      const own = { block: open.keyBytes, first, isOwn: true };
      this.#remove(batch, own, block, timesOf(options, block.createdUs, runAtUs));
    }
  }

  *#rescheduledIn(open: OpenBlock): Iterable<readonly [JobId, number]> {
    yield* rescheduledIn(this.#reader, open.keyBytes, open.count);
    for (const [name, runAtUs] of this.#rescheduled) {
      if (name.startsWith(open.key)) yield [Buffer.from(name, 'latin1'), runAtUs];
    }
  }

  #set(turn: Turn, jobs: Omit<Timer, 'atUs' | 'kind'>, { plugin }: Block, times: JobTimes): void {
    for (const [kind, atUs] of timersOf(plugin, times)) {
      // Jobs that are due at once need no timer for `run_at`.
      if (kind === 'run_at' && atUs <= turn.nowUs) continue;
      putTimer(turn.batch, { ...jobs, kind, atUs });
      this.nextUs = earlier(this.nextUs, atUs);
      this.#setUs = earlier(this.#setUs, atUs);
    }
  }

  #remove(batch: Batch, jobs: Omit<Timer, 'atUs' | 'kind' | 'count'>, { plugin }: Block, times: JobTimes): void {
    for (const [kind, atUs] of timersOf(plugin, times)) {
      // A time before 1970 has no key. It had passed when `#set` was called, so it has no timer.
      if (atUs < 0) continue;
      batch.remove('timers', timerKey({ ...jobs, kind, atUs }));
    }
  }

  /** The timers whose time has come, earliest first, as of the last commit: timers that this turn has removed are among them. */
  *due(nowUs: number): Iterable<Timer> {
    let from: Uint8Array | undefined;
    for (;;) {
      const range = { ...(from && { from }), to: usKey(nowUs + 1), limit: timersPerScan };
      const page = Array.from(this.#reader.scan('timers', range), ({ key, value }) => {
        return { key: Buffer.from(key), value: Buffer.from(value) };
      });
      for (const { key, value } of page) {
        const timer = this.#setAside.read('timers', key, () => decodeTimer(key, value));
        if (timer) yield timer;
      }
      if (page.length < timersPerScan) return;
      from = keyAfter(page.at(-1)!.key);
    }
  }

  /** Removes the record of a timer that has been handled. */
  remove(batch: Batch, timer: Timer): void {
    batch.remove('timers', timerKey(timer));
  }

  /** Finds the time of the next timer. Called when all timers whose time has come were handled or skipped. */
  handled(nowUs: number): void {
    this.nextUs = earlier(nextTimerUs(this.#reader, nowUs), this.#setUs);
  }

  /** Must be called at the end of a turn. */
  close(): void {
    this.#setUs = null;
    if (this.#rescheduled.size > 0) this.#rescheduled.clear();
  }
}
