// What jobs and runs that a schedule starts have in addition to those of calls.

export type ScheduledWork = {
  /** Packed map: the baggage. */
  readonly context?: Uint8Array;
  /** It is accepted and waits, even if its target is paused and refuses new calls. */
  readonly waitsUnderPause?: true;
};
