// The reports of the ledger thread to the main thread. They show whether the ledger is up. The metrics also use them.

/** To the main thread, once a second while the actors work. */
export type LedgerFigures = {
  readonly kind: 'ledger_figures';
  /** The time of the report, in ms since the epoch. After the clock was set back, this can be later than the time of the main thread. */
  readonly nowMs: number;
  /** Whether dispatching has stopped because the disk is full. */
  readonly isFull: boolean;
  /** The average share of the workers that were busy in the last minute, from 0 to 1. At each moment, the busiest kind of worker counts. */
  readonly utilization: number;
  readonly lanes: readonly {
    readonly plugin: string;
    readonly queued: number;
    readonly running: number;
    /**
     * The earliest time, in ms since the epoch, at which the lane's next single attempt or the next job of its blocks could run. For each of
     * the two, this is the latest of its acceptance, its `run_at`, the `dueUs` of its attempt, and the end of the last hold. Null: neither
     * waits, or the whole plugin is held.
     */
    readonly oldestMs: number | null;
  }[];
};
/**
 * To the main thread, once a second, even while no actors work. `workers`: by kind of host, the number of places of the running hosts
 * (`HostSlot.threads`). `restarts`: by host, how often its process was lost. `archiveFailure`: why the last copy of the commit log to its
 * archive failed (`backups.log`); null: it did not fail, or the log is not archived.
 */
export type LedgerPulse = {
  readonly kind: 'ledger_pulse';
  readonly areActorsUp: boolean;
  readonly workers: readonly (readonly [kind: string, count: number])[];
  readonly restarts: readonly (readonly [host: string, count: number])[];
  readonly archiveFailure: string | null;
};

export type LedgerReport = LedgerFigures | LedgerPulse;
