// The origins of jobs: their trees, runs and tags. The origin of each job in a group is looked up at most once, when a subscriber first
// needs it.

import { type JobId, jobIdBytes } from '../../runtime/ids.ts';
import { pipelinePlugin } from '../job/records/job.ts';
import type { JobObservations, JobOrigin, ObservationType, Origins, RunEnding } from './protocol.ts';

/** A read stops after this many lookups, which take about a millisecond. The next read continues. */
export const readingWorkMax = 256;

const ends = new Set<ObservationType>([
  'job.completed',
  'job.failed',
  'job.timed_out',
  'job.dead',
  'job.cancelled',
  'pipeline.completed',
  'pipeline.failed',
  'pipeline.timed_out',
  'pipeline.cancelled',
]);

/** For a hub without a ledger. No origin is ever found. */
export const noOrigins: Origins = { find: () => null, ended: () => null, refresh: () => {}, work: 0 };

/** The origins of the jobs of one group, kept as long as the ring holds the group. */
export class GroupOrigins {
  readonly #origins: Origins;
  readonly #group: JobObservations;
  readonly #found: (JobOrigin | null | undefined)[] = [];
  readonly #ended: (RunEnding | null | undefined)[] = [];

  constructor(origins: Origins, group: JobObservations) {
    this.#origins = origins;
    this.#group = group;
  }

  at(place: number): JobOrigin | null {
    const known = this.#found[place];
    if (known !== undefined) return known;
    const found = this.#origins.find(this.#id(place));
    this.#found[place] = found;
    return found;
  }

  /**
   * If the observation at this index reports the end of a run: how the jobs inside the run ended. Null: the group does not report ends
   * of runs, or the run is no longer stored.
   */
  endedAt(place: number): RunEnding | null {
    const { type, plugin } = this.#group;
    if (plugin !== pipelinePlugin || !ends.has(type)) return null;
    const known = this.#ended[place];
    if (known !== undefined) return known;
    const ended = this.#origins.ended(this.#id(place));
    this.#ended[place] = ended;
    return ended;
  }

  #id(place: number): JobId {
    return this.#group.ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes);
  }
}
