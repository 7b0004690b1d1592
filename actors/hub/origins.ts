// Where the jobs of events belong: looked up when somebody reads the events, once for each, and never before.

import { type JobId, jobIdBytes } from '../../runtime/ids.ts';
import type { Tally } from '../job/records/job.ts';
import { pipelinePlugin } from '../job/records/job.ts';
import type { JobObservations, ObservationType, Origin, Origins } from './protocol.ts';

/** Work of one reading: what takes longer goes on with the next. About a millisecond. */
export const readingWorkMax = 256;

const ends = new Set<ObservationType>([
  'job.completed',
  'job.failed',
  'pipeline.completed',
  'pipeline.failed',
  'pipeline.timed_out',
]);

/** For hubs without a ledger. */
export const noOrigins: Origins = { find: () => null, counts: () => null, refresh: () => {}, work: 0 };

/** Of the jobs of one group, kept as long as the ring holds the group. */
export class GroupOrigins {
  readonly #origins: Origins;
  readonly #group: JobObservations;
  readonly #found: (Origin | null | undefined)[] = [];
  readonly #counts: (Tally | null | undefined)[] = [];

  constructor(origins: Origins, group: JobObservations) {
    this.#origins = origins;
    this.#group = group;
  }

  at(place: number): Origin | null {
    const known = this.#found[place];
    if (known !== undefined) return known;
    const found = this.#origins.find(this.#id(place));
    this.#found[place] = found;
    return found;
  }

  /** Where the event says that a run has ended. */
  countsAt(place: number): Tally | null {
    const { type, plugin } = this.#group;
    if (plugin !== pipelinePlugin || !ends.has(type)) return null;
    const known = this.#counts[place];
    if (known !== undefined) return known;
    const counts = this.#origins.counts(this.#id(place));
    this.#counts[place] = counts;
    return counts;
  }

  #id(place: number): JobId {
    return this.#group.ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes);
  }
}
