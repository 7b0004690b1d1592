// The interface of a peer in the bench "peers". Each peer has one file, which follows the peer's own advice for speed.

export type Facts = {
  readonly versions: string;
  /** When a job is synced to the disk: before it is acknowledged, or later. */
  readonly durability: string;
  /** Where handlers run. */
  readonly handlers: string;
  /** What remains of an ended job. */
  readonly records: string;
  /** How the end of all children is detected. */
  readonly join: string;
};

/** Called when the handler of job `n` has begun. `atMs`: the time at which it began, from `nowMs`. */
export type OnRun = (n: number, atMs: number) => void;

export interface Peer {
  readonly facts: Facts;
  /**
   * Starts the peer's server, if it has one, in this directory. No job runs yet. The handlers of single jobs only call
   * `onRun`.
   */
  start(directory: string, onRun: OnRun): Promise<void>;
  /** Submits job `n`. Resolves when the job is acknowledged. */
  submit(n: number): Promise<void>;
  /** Whether one call can submit many jobs. */
  readonly hasBulk: boolean;
  /** Submits `count` jobs, numbered from 0, in the peer's fastest way. Resolves when all are acknowledged. */
  submitMany(count: number): Promise<void>;
  /** Starts running jobs. */
  work(): Promise<void>;
  /** Stops running jobs until `work` is called again. */
  rest(): Promise<void>;
  /** Does the maintenance that the peer's server would do by itself in an idle minute after much work. */
  tidy?(): Promise<void>;
  /** The number of single jobs that have settled since the start. */
  settled(): number | Promise<number>;
  /**
   * Announces how many runs of steps will be parallel, for peers with a setting that depends on this number. Called
   * while no run is open.
   */
  expectRuns?(atOnce: number): void;
  /** Runs three durable steps, one after the other. Resolves when the last step has ended. */
  steps(): Promise<void>;
  /** Runs the children, and one job after all of them. Resolves when this job has ended. */
  fanout(children: number): Promise<void>;
  stop(): Promise<void>;
}

/** The current time in ms since the epoch, with fractions. All threads and processes have the same clock. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** The same payload as headgate's benches have. */
export function payloadOf(n: number): { readonly n: string } {
  return { n: String(n).padStart(9, '0') };
}
