// Jobs and runs whose end the schedule actor handles in the same commit.
import { formatId, type JobId } from '../../runtime/ids.ts';
import type { EndedJob, FollowedJobs } from '../schedule/protocol.ts';
import type { TerminalStatus } from './records/job.ts';

export class FollowedEnds implements FollowedJobs {
  readonly #ids = new Set<string>();
  #ended: EndedJob[] = [];

  get isEmpty(): boolean {
    return this.#ids.size === 0;
  }

  add(id: JobId): void {
    this.#ids.add(formatId(id));
  }

  remove(id: JobId): void {
    this.#ids.delete(formatId(id));
  }

  /** Must be called in the turn in which a job or run settles. */
  ended(id: JobId, status: TerminalStatus): void {
    const text = formatId(id);
    if (this.#ids.delete(text)) this.#ended.push({ id: text, status });
  }

  takeEnded(): readonly EndedJob[] {
    const ended = this.#ended;
    if (ended.length > 0) this.#ended = [];
    return ended;
  }
}
