// A schedule in memory: its definition, its record, and when it fires next.
import type { ScheduleDefinition } from '../../config/config.ts';
import { pack } from '../../runtime/packing.ts';
import type { Refusal } from '../job/protocol.ts';
import type { Due } from './due-heap.ts';
import { missedMax, type Passed } from './plan.ts';
import {
  type Firing,
  historyMax,
  isMissed,
  type PassReason,
  type ScheduleOutcome,
  type ScheduleRecord,
} from './records/schedule.ts';

/** Due occurrences that have not fired, because a job was refused. They are tried again until `untilMs`, when the next occurrence is due. */
export type RefusedRuns = {
  readonly runs: readonly number[];
  readonly untilMs: number;
  readonly refusal: Refusal;
};

export class OpenSchedule implements Due {
  readonly id: string;
  record: ScheduleRecord;
  /** Null: the configuration has no such schedule. */
  definition: ScheduleDefinition | null = null;
  /** When the actor handles the schedule next: fires it, tries again, or works on its queue; Infinity: never. */
  nextMs = Number.POSITIVE_INFINITY;
  /** The time, in ms, since which the service has been up and the schedule has been able to fire. */
  liveMs = 0;
  refused: RefusedRuns | null = null;
  /** The number of the schedule's records in the table `fired`. */
  ranges = 0;
  #payload: Uint8Array | null = null;

  constructor(id: string, record: ScheduleRecord) {
    this.id = id;
    this.record = record;
  }

  define(definition: ScheduleDefinition | null): void {
    if (definition?.payload !== this.definition?.payload) this.#payload = null;
    this.definition = definition;
  }

  /** The packed payload of the schedule's jobs. */
  get payload(): Uint8Array {
    this.#payload ??= pack(this.definition!.payload);
    return this.#payload;
  }

  /** Whether the schedule is configured, on, and not paused. */
  get mayFire(): boolean {
    return this.definition !== null && this.record.offMs === null && this.record.pause === null;
  }

  change(changes: Partial<ScheduleRecord>): void {
    this.record = { ...this.record, ...changes };
  }

  /** How many occurrences between the last one that fired and `dueMs` were missed, according to the history. At most `missedMax`. */
  missedBefore(dueMs: number): number {
    const { history } = this.record;
    const fired = history.findLastIndex(entry => entry.kind === 'fired' && entry.dueMs !== null);
    const missed = history
      .slice(fired + 1)
      .map(entry => (entry.kind === 'passed' && isMissed(entry.reason) && entry.lastMs < dueMs ? entry.count : 0));
    return Math.min(
      missed.reduce((sum, count) => sum + count, 0),
      missedMax,
    );
  }

  add(firing: Extract<Firing, { kind: 'fired' }>): void {
    const counts = this.#counted(firing.dueMs === null ? 'by_hand' : 'fired', 1);
    this.change({ counts, history: [...this.record.history, firing].slice(-historyMax) });
  }

  /** Records that these occurrences do not fire. The schedule continues with the occurrence after them. */
  pass({ firstMs, lastMs, count }: Passed, reason: PassReason, atMs: number): void {
    const { history, lastDueMs } = this.record;
    const last = history.at(-1);
    const isMore = last?.kind === 'passed' && last.reason === reason;
    const entry: Firing = isMore
      ? { ...last, lastMs, count: last.count + count, atMs }
      : { kind: 'passed', reason, firstMs, lastMs, count, atMs };
    const others = isMore ? history.slice(0, -1) : history;
    this.change({
      counts: this.#counted(reason, count),
      history: [...others, entry].slice(-historyMax),
      lastDueMs: Math.max(lastDueMs, lastMs),
    });
  }

  #counted(outcome: ScheduleOutcome, count: number): NonNullable<ScheduleRecord['counts']> {
    const { counts } = this.record;
    return { ...counts, [outcome]: (counts?.[outcome] ?? 0) + count };
  }
}
