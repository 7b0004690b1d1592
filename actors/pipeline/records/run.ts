// The table of unfinished runs: a record for each run, and one for each inner scope.
import type { JobId } from '../../../runtime/ids.ts';
import type { Json } from '../../../runtime/json-value.ts';
import { unpack } from '../../../runtime/packing.ts';
import { type Tally, tallyOf } from '../../job/records/job.ts';

/** One value that a token brought to a join, at its place in the context. */
export type MergedValue = { readonly keys: readonly string[]; readonly path: readonly number[]; readonly value: Json };

export type PackedScope = [
  sequence: number,
  parent: number,
  path: readonly number[],
  position: number,
  live: number,
  arrived: number,
  failed: number,
  bytes: number,
  overflown: boolean,
  depth: number,
  cause: Uint8Array | null,
  context: Uint8Array,
  merged: readonly MergedValue[] | null,
  stored: number,
  rest: Uint8Array,
];
export type PackedOuter = [run: Uint8Array, node: number, scope: number, path: readonly number[], context: Uint8Array];
export type PackedFan = [id: number, count: number, index: number, at: number];
export type PackedRun = [
  hash: Uint8Array,
  createdUs: number,
  submittedBy: string,
  root: Uint8Array | null,
  hooked: boolean,
  outer: PackedOuter | null,
  failure: string | null,
  jobs: number,
  scopesMade: number,
  fansMade: number,
  fans: PackedFan[],
  top: PackedScope,
  /** Absent in records of format 9. */
  settled?: number,
  /** Of these: failed, timed out, dead. Absent while all succeeded. */
  unsuccessful?: [failed: number, timedOut: number, dead: number],
];

/** run id (16), and the number of an inner scope (4). */
export function scopeKey(run: JobId, scope: number): Uint8Array {
  return numbered(run, scope);
}

/** run id (16), the number of the fan-out (4). */
export function listKey(run: JobId, fan: number): Uint8Array {
  return numbered(run, fan);
}

function numbered(run: JobId, number: number): Buffer {
  const key = Buffer.allocUnsafe(20);
  key.set(run);
  key.writeUInt32BE(number, 16);
  return key;
}

/** run id (16), scope (4), which segment of it (4), sequence (4). */
export function arrivalKey(run: JobId, scope: number, position: number, sequence: number): Uint8Array {
  const key = Buffer.allocUnsafe(28);
  key.set(run);
  key.writeUInt32BE(scope, 16);
  key.writeUInt32BE(position, 20);
  key.writeUInt32BE(sequence, 24);
  return key;
}

/** What a stored run says of its jobs: whether it is the root of its tree, and how many jobs inside it there must be. */
export function readJobsOf(value: Uint8Array): { readonly isRoot: boolean; readonly jobs: number } {
  const packed = unpack<PackedRun>(value);
  const [, , , root, , , , jobs] = packed;
  return { isRoot: root === null, jobs: jobs + (packed[12] ?? 0) };
}

/** What is counted of a stored run: its definition, the root of its tree, and its settled jobs. */
export function readCountsOf(id: JobId, value: Uint8Array) {
  const packed = unpack<PackedRun>(value);
  return { hash: packed[0], root: packed[3] ?? id, settled: packed[12] ?? 0 };
}

/** How the jobs of a stored run have ended so far. */
export function readOpenTally(value: Uint8Array): Tally {
  const packed = unpack<PackedRun>(value);
  const [failed, timed_out, dead] = packed[13] ?? [0, 0, 0];
  return { ...tallyOf(packed[12] ?? 0, { failed, timed_out, dead }), unsettled: packed[7] };
}
