// The interface of a peer in the bench "peers". Each peer has one file, which follows the peer's own advice for speed.

export type Facts = {
  readonly versions: string;
  /** Whether an acknowledged job is on the disk. */
  readonly durability: string;
  /** Where handlers run. */
  readonly handlers: string;
  /** What remains of a finished job. */
  readonly records: string;
  /** How the end of all children is detected. */
  readonly join: string;
};

/** Called when the handler of job `n` has begun, with the time: ms since the epoch, by `nowMs`. */
export type OnRun = (n: number, atMs: number) => void;

export interface Peer {
  readonly facts: Facts;
  /** Starts its server, if it has one, in the directory. No job runs yet. Its handlers only call `onRun`. */
  start(directory: string, onRun: OnRun): Promise<void>;
  /** Resolves when the job is acknowledged. */
  submit(n: number): Promise<void>;
  /** Whether one call can submit many jobs. */
  readonly hasBulk: boolean;
  /** Submits jobs with the numbers from 0 in the fastest way it has. Resolves when all are acknowledged. */
  submitMany(count: number): Promise<void>;
  /** Starts running jobs. */
  work(): Promise<void>;
  /** Stops running jobs until `work` is called again. */
  rest(): Promise<void>;
  /** Does the maintenance that its server would do by itself in an idle minute after much work. */
  tidy?(): Promise<void>;
  /** How many single jobs have settled since the start. */
  settled(): number | Promise<number>;
  /** Announces how many runs of steps will be parallel, for peers with a setting that depends on it. Called while no run is open. */
  expectRuns?(atOnce: number): void;
  /** Runs three durable steps, one after the other. Resolves at their end. */
  steps(): Promise<void>;
  /** Runs the children, and one job after all of them. Resolves at its end. */
  fanout(children: number): Promise<void>;
  stop(): Promise<void>;
}

/** The time with fractions of ms, equal in all threads and processes. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** The same payload as headgate's benches have. */
export function payloadOf(n: number): { readonly n: string } {
  return { n: String(n).padStart(9, '0') };
}
