// What every peer can do for the bench "peers"; one file each implements it as the peer's own documentation advises for speed.

export type Facts = {
  readonly versions: string;
  /** Whether an acknowledged job is on the disk. */
  readonly durability: string;
  /** Where handlers run. */
  readonly handlers: string;
  /** What is left of a job that is done. */
  readonly records: string;
  /** Who sees that all children are done. */
  readonly join: string;
};

/** The handler of a job with this number began at this moment: ms since the epoch, by `nowMs`. */
export type OnRun = (n: number, atMs: number) => void;

export interface Peer {
  readonly facts: Facts;
  /** Starts its server, if it has one, in the directory. Nothing is worked on yet. Its handlers do nothing but see to `onRun`. */
  start(directory: string, onRun: OnRun): Promise<void>;
  /** Resolves when the job is acknowledged. */
  submit(n: number): Promise<void>;
  /** Whether it takes many jobs in a call. */
  readonly hasBulk: boolean;
  /** Jobs with the numbers from 0, in the fastest way it has. Resolves when all are acknowledged. */
  submitMany(count: number): Promise<void>;
  /** From now on jobs are worked on. */
  work(): Promise<void>;
  /** From now on they are not, until `work` is called again. */
  rest(): Promise<void>;
  /** What its server would do by itself in an idle minute, after much work. */
  tidy?(): Promise<void>;
  /** How many single jobs have been settled since the start. */
  settled(): number | Promise<number>;
  /** So many runs of steps come at once from now on: for whom a setting depends on that. Called while it works and none runs. */
  expectRuns?(atOnce: number): void;
  /** A run of three durable steps, one after the other. Resolves at its end. */
  steps(): Promise<void>;
  /** A run of so many children and one job after all of them. Resolves at its end. */
  fanout(children: number): Promise<void>;
  stop(): Promise<void>;
}

/** With fractions, and the same in every thread and process. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** The same payload as headgate's benches have. */
export function payloadOf(n: number): { readonly n: string } {
  return { n: String(n).padStart(9, '0') };
}
