// Observations: events of the service, published after their commit. Observations of one kind are sent as one group.
import type { JobId } from '../../runtime/ids.ts';
import type { NotStarted } from '../job/records/cancel.ts';
import type { Tally } from '../job/records/job.ts';

/** Every type of an observation (docs/events.md). */
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
] as const;
export type ObservationType = (typeof observationTypes)[number];

/** Characters of an error message; the ledger truncates longer ones. */
export const errorCharsMax = 2_048;

/** An event of several jobs of one plugin and command; `ids` has 16 bytes per job. */
export type JobObservations = {
  readonly kind: 'jobs';
  readonly type: ObservationType;
  readonly atUs: number;
  readonly plugin: string;
  readonly command: string;
  readonly ids: Uint8Array;
  /** The errors of jobs that did not succeed, in the order of `ids`; at most `errorCharsMax` each. */
  readonly errors?: readonly (string | null)[];
};

/** Any other event. */
export type PlainObservation = {
  readonly kind: 'plain';
  readonly type: ObservationType;
  readonly atUs: number;
  readonly fields: { readonly [name: string]: string | number | boolean | null };
};

export type Observations = JobObservations | PlainObservation;

/** Sent to the hub once a turn. */
export type Observed = { readonly kind: 'observed'; readonly groups: readonly Observations[] };

/** The tree and runs of an event's job, as ids. `runs`: the run that the job is a step of, then the run that called that one, and so on. */
export type JobOrigin = { readonly root: string; readonly runs: readonly string[] };

/** How the jobs inside an ended run ended. `notStarted`: only of a run that was itself cancelled. */
export type RunEnding = { readonly counts: Tally | null; readonly notStarted: NotStarted | null };

/** Reads origins from the committed store. */
export interface Origins {
  /** Null: the job is no longer stored. */
  find(id: JobId): JobOrigin | null;
  /** An ended run. Null: it is no longer stored. */
  ended(id: JobId): RunEnding | null;
  /** Makes the newest commits visible. */
  refresh(): void;
  /** A running count of lookups: one for each record read, and one for each 16 KiB of it. */
  readonly work: number;
}
