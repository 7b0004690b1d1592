// Observations: what happened, told after the commit that made it true. Alike ones travel as one group.

/** Every type an observation can have (decisions, section 5). */
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
