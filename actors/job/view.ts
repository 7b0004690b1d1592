// Reading jobs from the store, on any thread.
import type { Json } from '../../runtime/packing.ts';
import type { Status } from './record.ts';

/** A job as the interface shows it (2.1), with times in µs since the epoch. */
export type JobView = {
  readonly jobId: string;
  readonly parentJobId: string | null;
  readonly plugin: string;
  readonly command: string;
  readonly status: Status;
  readonly submittedBy: string;
  readonly attempt: number;
  readonly createdUs: number;
  readonly startedUs: number | null;
  readonly completedUs: number | null;
  /** The plugin output (2.2), when there is one. */
  readonly output: { readonly [key: string]: Json } | null;
  readonly lastError: string | null;
};
