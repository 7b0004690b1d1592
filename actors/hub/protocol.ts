// Observations: what happened, told after the commit that made it true. Alike ones travel as one group.
import type { JobId } from '../../runtime/ids.ts';
import type { Tally } from '../job/records/job.ts';

/** Every type of an observation (docs/events.md). */
export const observationTypes = [
  'job.enqueued',
  'job.started',
  'job.completed',
  'job.failed',
  'job.timed_out',
  'job.dead',
  'job.retry_scheduled',
  'pipeline.started',
  'pipeline.completed',
  'pipeline.failed',
  'pipeline.timed_out',
  'plugin.loaded',
  'worker.replaced',
  'config.reloaded',
  'vault.changed',
  'webhook.accepted',
  'webhook.rejected',
  'schedule.fired',
] as const;
export type ObservationType = (typeof observationTypes)[number];

/** Characters of a text that says what went wrong; the rest is cut off before the text leaves the ledger. */
export const errorCharsMax = 2_048;

/** Jobs of one plugin and command that something happened to at once; `ids` has 16 bytes a job. */
export type JobObservations = {
  readonly kind: 'jobs';
  readonly type: ObservationType;
  readonly atUs: number;
  readonly plugin: string;
  readonly command: string;
  readonly ids: Uint8Array;
  /** Of the jobs that did not succeed, in the order of `ids`; at most `errorCharsMax` each. */
  readonly errors?: readonly (string | null)[];
};

/** Anything else. */
export type PlainObservation = {
  readonly kind: 'plain';
  readonly type: ObservationType;
  readonly atUs: number;
  readonly fields: { readonly [name: string]: string | number | boolean | null };
};

export type Observations = JobObservations | PlainObservation;

/** To the hub, once a turn. */
export type Observed = { readonly kind: 'observed'; readonly groups: readonly Observations[] };

/** Where the job of an event belongs, by ids as texts. `runs`: the run that the job is a step of, then the run that called that one, and so on. */
export type Origin = { readonly root: string; readonly runs: readonly string[] };

/** Finds them in what is committed. */
export interface Origins {
  /** Null: the job is no longer kept. */
  find(id: JobId): Origin | null;
  /** Of a run that has ended: how the jobs inside ended. Null: it is no longer kept. */
  counts(id: JobId): Tally | null;
  /** From now on what is committed now is found. */
  refresh(): void;
  /** How much work it has had, from the beginning: one for each record read, and one for each 16 KiB of it. */
  readonly work: number;
}
