// Properties of jobs and runs that only schedules set.

export type ScheduledWork = {
  /** The baggage, a packed map. */
  readonly context?: Uint8Array;
  /** Set if the job or run is accepted, and waits, even if a pause of its target refuses new calls. */
  readonly waitsUnderPause?: true;
};
