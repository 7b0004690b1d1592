// What must be so of jobs and runs that callers have cancelled, whatever fails.
import type { CancelReply } from '../../../actors/job/protocol.ts';
import { readCancelKey } from '../../../actors/job/records/cancel.ts';
import { pipelinePlugin } from '../../../actors/job/records/job.ts';
import { formatId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { Commits, KnownJob } from './commits.ts';
import type { Dice } from './dice.ts';
import type { HeldFrame } from './hosts.ts';

/** Of the newest jobs so many may be cancelled: most of the others have ended. */
const newestMax = 40;

export class CancelModel {
  readonly #commits: Commits;
  readonly #isDamaged: (id: string) => boolean;
  readonly #asked = new Set<string>();
  /** What callers were told: nothing of these starts any more. */
  readonly #answered = new Map<string, 'cancelled' | 'queued' | 'running'>();
  /** Jobs that have ended `cancelled`: a comparison of nothing proves nothing. */
  ended = 0;

  constructor(commits: Commits, isDamaged: (id: string) => boolean) {
    this.#commits = commits;
    this.#isDamaged = isDamaged;
  }

  /** A job or run to be cancelled; null: there is none. */
  pick(dice: Dice): string | null {
    const newest = [...this.#commits.jobs()].slice(-newestMax);
    if (newest.length === 0) return null;
    const { id } = dice.pick(newest);
    this.#asked.add(id);
    return id;
  }

  answered(id: string, reply: CancelReply | { readonly kind: 'refused' }): void {
    if (reply.kind !== 'cancel') return;
    const { status } = reply;
    const known = this.#commits.find(id)!.attempts.at(-1);
    const stands = known?.final ? known.status : null;
    if (status === 'cancelled' || status === 'queued' || status === 'running') {
      holds(
        stands === null || stands === 'cancelled',
        () => `the cancel of ${id} is answered ${status}: it is ${stands}`,
      );
      this.#answered.set(id, status);
    } else if (status !== null)
      holds(stands === status, () => `the cancel of ${id} is answered ${status}, not ${stands}`);
  }

  /** Nothing that was cancelled gets to a host. */
  frameHolds({ tasks }: HeldFrame): void {
    for (const { id, attempt } of tasks) {
      const by = this.#around(id, other => this.#answered.has(other));
      holds(by === null, () => `attempt ${attempt} of ${id} is handed out after the cancel of ${by} was answered`);
    }
  }

  /** Whether somebody has asked for the end of the job, or of a run around it. */
  isAsked(job: KnownJob): boolean {
    return this.#around(job.id, other => this.#asked.has(other)) !== null;
  }

  /** At the end: what was cancelled has ended so, or had succeeded first; what was not has not. */
  ends(reader: Reader): void {
    for (const key of reader.keys('cancels', {})) {
      const { id, isMark } = readCancelKey(key);
      const isOver = !isMark || this.#isDamaged(formatId(id));
      holds(isOver, () => `everything should have settled, and ${formatId(id)} is still to be cancelled`);
    }
    for (const job of this.#commits.jobs()) {
      if (this.#isDamaged(job.id)) continue;
      const { status } = job.attempts.at(-1)!;
      const answer = this.#answered.get(job.id);
      if (status === 'cancelled') {
        this.ended++;
        holds(this.isAsked(job), () => `${job.id} is cancelled, and nobody asked for it`);
      } else if (answer !== undefined) {
        const mayWin = answer !== 'cancelled' && status === 'succeeded' && job.plugin !== pipelinePlugin;
        holds(mayWin, () => `the cancel of ${job.id} was answered ${answer}, and it has ${status}`);
      }
    }
  }

  /** The nearest of the job, its run and those that called it, for which this holds. */
  #around(id: string, holdsFor: (id: string) => boolean): string | null {
    for (let at: string | null = id; at !== null; ) {
      if (holdsFor(at)) return at;
      const run: Uint8Array | undefined = this.#commits.find(at)?.group.run?.run;
      at = run ? formatId(run) : null;
    }
    return null;
  }
}
