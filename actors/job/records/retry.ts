// The table of retries: a record for each job that has begun a further attempt, or waits for it.
import { pack, unpack } from '../../../runtime/packing.ts';

/** Persisted in `retries`, from the end of the first attempt to the end of the job. */
export type RetryRecord = {
  /** The attempt that comes, or runs. */
  readonly attempt: number;
  /** When it is due; once it was handed out, when that was. */
  readonly dueUs: number;
  /**
   * waiting, or handed to a worker: alone or in a frame with others. lost: it was running alone when the service ended, and waits
   * until its command is there to say whether it may run again.
   */
  readonly stage: 'waiting' | 'out' | 'alone' | 'lost';
  /** It ended its host, or may have: its next attempt runs in the quarantine. */
  readonly culprit: boolean;
};

/** Whether a worker has it. */
export function isOut({ stage }: RetryRecord): boolean {
  return stage === 'out' || stage === 'alone';
}

export function encodeRetry(record: RetryRecord): Uint8Array {
  return pack([record.attempt, record.dueUs, record.stage, record.culprit]);
}

export function decodeRetry(bytes: Uint8Array): RetryRecord {
  const [attempt, dueUs, stage, culprit] = unpack<[number, number, RetryRecord['stage'], boolean]>(bytes);
  return { attempt, dueUs, stage, culprit };
}
