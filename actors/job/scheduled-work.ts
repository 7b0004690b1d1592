// Properties of jobs and runs that are set only by schedules.

export type ScheduledWork = {
  /** The baggage, a packed map. */
  readonly context?: Uint8Array;
  /** Set if the job or run is accepted, and waits, even if a pause of its target refuses new calls. */
  readonly waitsUnderPause?: true;
};
