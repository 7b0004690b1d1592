// Callers ask what a job waits for. While a job waits for a retry, the answer must say so, unless its record is unusable.
import type { WaitsReply } from '../../../actors/job/protocol.ts';
import { attemptOf, findOpen } from '../../../actors/job/records/open.ts';
import { isInFlight } from '../../../actors/job/records/retry.ts';
import { blockOf, formatId, indexOf, type JobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { Commits } from './commits.ts';
import type { Dice } from './dice.ts';
import type { Poison } from './poison.ts';

/** A question about a job with a record in `retries`. `commit`: the number of commits before the question. */
export type Look = { readonly id: JobId; readonly record: Uint8Array; readonly commit: number };

export class Looks {
  readonly #reader: Reader;
  readonly #dice: Dice;
  readonly #commits: Pick<Commits, 'count'>;
  readonly #poison: Pick<Poison, 'has'>;

  constructor(reader: Reader, dice: Dice, commits: Pick<Commits, 'count'>, poison: Pick<Poison, 'has'>) {
    this.#reader = reader;
    this.#dice = dice;
    this.#commits = commits;
    this.#poison = poison;
  }

  /** A question about one of the jobs with a record in `retries`. Null: there are none. */
  next(): Look | null {
    const keys = Array.from(this.#reader.keys('retries', {}));
    if (keys.length === 0) return null;
    const id = Buffer.from(this.#dice.pick(keys));
    return { id, record: Buffer.from(this.#reader.get('retries', id)!), commit: this.#commits.count };
  }

  /** The answer is checked if no commit but that of its turn has followed the question, and the record is still the same. */
  answered({ id, record, commit }: Look, { waits }: WaitsReply): void {
    const [key, now] = [blockOf(id), this.#reader.get('retries', id)];
    if (waits !== null || this.#commits.count > commit + 1 || !now || Buffer.compare(record, now) !== 0) return;
    if (this.#poison.has('retries', id) || this.#poison.has('open', key)) return;
    const isHeld = isInFlight(attemptOf(this.#reader, findOpen(this.#reader, key)!, indexOf(id)));
    holds(isHeld, () => `${formatId(id)} waits for an attempt, and the answer says that it waits for nothing`);
  }
}
