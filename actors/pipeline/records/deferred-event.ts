// The records of events and hooks that will start runs in a later turn: their origin, and how many of the events have
// been handled.
import { type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { RunPosition, TerminalStatus } from '../../job/records/job.ts';
import type { Tags } from '../../job/records/tags.ts';

/** The origin of events or of a hook, in its stored form. */
export type Origin = {
  readonly job: JobId;
  readonly plugin: string;
  readonly submittedBy: string;
  readonly root: JobId | null;
  readonly depth: number;
  readonly context: Uint8Array;
  readonly hooked: boolean;
  /** The tags of the job. The runs that its events or hooks start get the same tags. */
  readonly tags?: Tags;
  /**
   * The place in a run where the events become tokens, in records of earlier versions; otherwise null. `adoptFloods` (earlier-floods.ts)
   * converts such records to fan-outs.
   */
  readonly place: Pick<RunPosition, 'run' | 'scope' | 'node' | 'path'> | null;
  /**
   * How the job or run ended, if hooks for its end wait. Absent: the job's events wait. For a run, `command` is the name of its
   * pipeline.
   */
  readonly hook?: { readonly command: string; readonly status: TerminalStatus };
};

/**
 * How many events of the list have been handled, and the offset of the next event. `fired`: the pipelines to which the
 * next event has been offered already.
 */
export type Cursor = { index: number; at: number; fired?: string[] };

export const originKeyBytes = jobIdBytes + 1;

/**
 * The root of the tree in which these events or hooks wait to start runs. Null: the record is a cursor, or its events become tokens of a run
 * (earlier versions).
 */
export function rootOfWaiting(key: Uint8Array, value: Uint8Array): JobId | null {
  if (key.length > originKeyBytes || isOfEarlierFlood(key)) return null;
  return rootOf(unpack<Origin>(Buffer.from(value)));
}

export function rootOf({ root, job }: Origin): JobId {
  return root ?? job;
}

/** The key: job id (16), then 0: events that start runs; 1: tokens of a run (earlier versions); 2: hooks. */
export function originKey({ job, place, hook }: Origin): Uint8Array {
  return Buffer.concat([job, Buffer.of(place !== null ? 1 : hook ? 2 : 0)]);
}

export function startKey(job: JobId): Uint8Array {
  return Buffer.concat([job, Buffer.of(0)]);
}

/** Whether the key is that of an origin whose events become tokens of a run (earlier versions). */
export function isOfEarlierFlood(key: Uint8Array): boolean {
  return key.length === originKeyBytes && key[jobIdBytes] === 1;
}

/** The key of the cursor: the key of the origin, then 0. */
export function cursorKey(origin: Uint8Array): Uint8Array {
  return Buffer.concat([origin, Buffer.of(0)]);
}
