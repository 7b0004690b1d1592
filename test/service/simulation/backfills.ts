// Backfills of schedules, as callers request them. Each commit is checked for occurrences that fire twice or are left out
// (schedule-model.ts).
import { type ActionPlan, type ActionResult, noSelection } from '../../../actors/job/records/action.ts';
import { headgatePlugin } from '../../../actors/job/records/job.ts';
import { readSchedule } from '../../../actors/schedule/records/schedule.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { backfillMax } from '../../../service/schedules.ts';
import { holds } from './broken.ts';
import { type Commits, partOf } from './commits.ts';
import type { Dice } from './dice.ts';

const hourMs = 3_600_000;

export class Backfills {
  readonly #reader: Reader;
  readonly #commits: Commits;
  readonly #dice: Dice;
  #asked = 0;

  constructor(reader: Reader, commits: Commits, dice: Dice) {
    this.#reader = reader;
    this.#commits = commits;
    this.#dice = dice;
  }

  /** Requests a period around the last occurrences of a schedule. Null if the drawn schedule does not exist. */
  next(): ActionPlan | null {
    const dice = this.#dice;
    const schedule = `schedule-${dice.below(3)}`;
    const record = readSchedule(this.#reader, schedule);
    if (!record) return null;
    const toMs = record.lastDueMs + dice.pick([-1, 0, 1]) * dice.below(hourMs);
    const fromMs = toMs - dice.below(2 * hourMs);
    return {
      operation: 'backfill',
      backfill: { schedule, fromMs, toMs },
      selection: noSelection,
      moment: { atUs: toMs * 1_000, block: new Uint8Array(0), commitUs: 0 },
      searchedUs: null,
      limit: null,
      perSecond: null,
      reason: null,
      by: `backfill ${++this.#asked}`,
      matched: backfillMax,
    };
  }

  /** At the end: the results of the backfills must count as many occurrences as they have fired. Returns that number. */
  ends(): number {
    let told = 0;
    let areAllTold = true;
    for (const { plugin, command, attempts } of this.#commits.jobs()) {
      if (plugin !== headgatePlugin || command !== 'backfill') continue;
      const last = attempts.at(-1);
      if (last) told += (partOf(last.body, 'result') as unknown as ActionResult).done;
      else areAllTold = false;
    }
    const { backfilled } = this.#commits.schedules;
    holds(
      !areAllTold || told === backfilled,
      () => `backfills say that they have fired ${told} occurrences, not ${backfilled}`,
    );
    return backfilled;
  }
}
