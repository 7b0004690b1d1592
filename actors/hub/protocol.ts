// Observations are the messages of the event stream. A group has either observations of one type about jobs of one plugin and command
// (`JobObservations`), or a single observation with its own fields (`PlainObservation`).
import type { JobId } from '../../runtime/ids.ts';
import type { NotStarted } from '../job/records/cancel.ts';
import type { Tally } from '../job/records/job.ts';
import type { Tags } from '../job/records/tags.ts';

/** The types of observations (docs/events.md). */
export const observationTypes = [
  'job.enqueued',
  'job.started',
  'job.completed',
  'job.failed',
  'job.timed_out',
  'job.dead',
  'job.cancelled',
  'job.retry_scheduled',
  'job.rescheduled',
  'pipeline.started',
  'pipeline.completed',
  'pipeline.failed',
  'pipeline.timed_out',
  'pipeline.cancelled',
  'pipeline.paused',
  'pipeline.resumed',
  'plugin.loaded',
  'plugin.paused',
  'plugin.resumed',
  'action.started',
  'action.ended',
  'system.paused',
  'system.resumed',
  'worker.replaced',
  'config.reloaded',
  'vault.changed',
  'webhook.accepted',
  'webhook.rejected',
  'schedule.fired',
  'schedule.skipped',
  'schedule.missed',
  'schedule.paused',
] as const;
export type ObservationType = (typeof observationTypes)[number];

/** The maximum number of characters of an error in an observation. The ledger truncates longer errors. */
export const errorCharsMax = 2_048;

/** Observations of one type about one or more jobs of one plugin and command. `ids` has 16 bytes per job. */
export type JobObservations = {
  readonly kind: 'jobs';
  readonly type: ObservationType;
  readonly atUs: number;
  readonly plugin: string;
  readonly command: string;
  readonly ids: Uint8Array;
  /** The error of each job, in the order of `ids`, with at most `errorCharsMax` characters. Null: the job has no error. */
  readonly errors?: readonly (string | null)[];
};

export type PlainObservation = {
  readonly kind: 'plain';
  readonly type: ObservationType;
  readonly atUs: number;
  readonly fields: { readonly [name: string]: string | number | boolean | null };
};

export type Observations = JobObservations | PlainObservation;

/** Sends observations to the hub. The message leaves after the commit of the changes that it reports. */
export type Observed = { readonly kind: 'observed'; readonly groups: readonly Observations[] };

/**
 * The tree, the runs and the tags of a job. `root`: the id of the tree's root. `runs`: the run whose step created the job, then the run
 * that called this run, and so on.
 */
export type JobOrigin = { readonly root: string; readonly runs: readonly string[]; readonly tags?: Tags | undefined };

/**
 * How the jobs inside an ended run ended. `counts` is null if the run ended under an earlier version of headgate, which
 * stored no counts. `notStarted`: if the run itself was cancelled or passed one of its time limits, how many jobs, and
 * elements of fan-outs, never started because of that; otherwise null.
 */
export type RunEnding = { readonly counts: Tally | null; readonly notStarted: NotStarted | null };

/** Reads origins from the committed store. */
export interface Origins {
  /** The tree, the runs and the tags of the job. Null: the job is no longer stored, or its record is unusable. */
  find(id: JobId): JobOrigin | null;
  /** How the jobs inside a run ended. Null: the run is no longer stored, or one of its records is unusable. */
  ended(id: JobId): RunEnding | null;
  /** Makes the newest commits visible. */
  refresh(): void;
  /** The number of lookups so far: reading a block or the end of a run counts as one, and each 16 KiB of a block as another. */
  readonly work: number;
}
