// The table of retries has a record for each unsettled job whose first attempt has ended or is `lost`. For any other unsettled job, the
// open record of its block has the state of the first attempt.
import { pack, unpack } from '../../../runtime/packing.ts';

/**
 * The state of an attempt that has not ended.
 *
 * - `waiting`: it waits to be dispatched, or for the time of a retry.
 * - `suspect`: it waits and will run alone, because it may end its host.
 * - `sent`: a host has it, in a frame with others or behind many frames. If the service is killed, the attempt may not have started, and is
 *   not charged.
 * - `sentAlone`: a host has it, otherwise alone in its frame. If the service is killed, the attempt counts as started, and is charged.
 * - `lost`: it was alone in its frame when the service ended. It waits until the configuration has its command again, because the command
 *   determines whether the job may run again.
 */
export type Custody = 'waiting' | 'suspect' | 'sent' | 'sentAlone' | 'lost';

/** The running or next attempt of a job. Stored in `retries` if it is not the first attempt, or if it is `lost`. */
export type RetryRecord = {
  /** The number of the attempt that runs or comes next. */
  readonly attempt: number;
  readonly custody: Custody;
  /** Waiting: when the attempt is due. In flight: when it was dispatched. Lost: when the loss was found. In µs. */
  readonly dueUs: number;
};

/** The stored form of each custody: a word, and whether the job is a suspect. */
const stored: { readonly [C in Custody]: readonly [word: string, isSuspect: boolean] } = {
  waiting: ['waiting', false],
  suspect: ['waiting', true],
  sent: ['out', false],
  sentAlone: ['alone', false],
  lost: ['lost', false],
};
const custodies = Object.keys(stored) as Custody[];

/** Whether a host has the attempt. */
export function isInFlight({ custody }: Pick<RetryRecord, 'custody'>): boolean {
  return custody === 'sent' || custody === 'sentAlone';
}

export function encodeRetry({ attempt, dueUs, custody }: RetryRecord): Uint8Array {
  return pack([attempt, dueUs, ...stored[custody]]);
}

export function decodeRetry(bytes: Uint8Array): RetryRecord {
  const [attempt, dueUs, word, isSuspect] = unpack<[number, number, string, boolean]>(bytes);
  const custody = custodies.find(name => stored[name][0] === word && stored[name][1] === isSuspect);
  if (!custody) throw new Error(`unknown custody of an attempt: ${word}, ${isSuspect}`);
  return { attempt, custody, dueUs };
}
