// What is stored of events that are to start runs in a later turn: where they came from, and how far they have been taken.
import { type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { TerminalStatus } from '../../job/records/job.ts';

/** Where events came from. Stored as it is. */
export type Origin = {
  readonly job: JobId;
  readonly plugin: string;
  readonly submittedBy: string;
  readonly root: JobId | null;
  readonly depth: number;
  readonly context: Uint8Array;
  readonly hooked: boolean;
  /** Set by earlier versions, for events that go on as tokens of a run. They are fan-outs now. */
  readonly place: {
    readonly run: JobId;
    readonly scope: number;
    readonly node: number;
    readonly path: readonly number[];
  } | null;
  /** Set: no events, but the end of the job itself, which a hook waits for. */
  readonly hook?: { readonly command: string; readonly status: TerminalStatus };
};

/** How many events of the list have been taken, and where the next one begins. */
export type Cursor = { index: number; at: number };

export const originKeyBytes = jobIdBytes + 1;

/** The root of the tree in which these events wait to start runs; null: they do not. */
export function rootOfWaiting(key: Uint8Array, value: Uint8Array): JobId | null {
  if (key.length > originKeyBytes || key[jobIdBytes] === 1) return null;
  return rootOf(unpack<Origin>(Buffer.from(value)));
}

export function rootOf({ root, job }: Origin): JobId {
  return root ?? job;
}

/** job id (16); 0: to start runs, 1: as tokens of a run (earlier versions), 2: for hooks. */
export function originKey({ job, place, hook }: Origin): Uint8Array {
  return Buffer.concat([job, Buffer.of(place !== null ? 1 : hook ? 2 : 0)]);
}

export function startKey(job: JobId): Uint8Array {
  return Buffer.concat([job, Buffer.of(0)]);
}

/** The same, and 0. */
export function cursorKey(origin: Uint8Array): Uint8Array {
  return Buffer.concat([origin, Buffer.of(0)]);
}
