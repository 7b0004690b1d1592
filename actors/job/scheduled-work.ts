// What a schedule gives to the jobs and runs that it starts, and a call does not give.

export type ScheduledWork = {
  /** The baggage, a packed map. */
  readonly context?: Uint8Array;
  /** The job or run is accepted and waits, even if its target is paused and refuses new calls. */
  readonly waitsUnderPause?: true;
};
