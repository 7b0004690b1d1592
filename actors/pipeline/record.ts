// What is stored of an unfinished run: one value of its own, and one for each inner scope.

import type { JobId } from '../../runtime/ids.ts';
import { pack, unpack } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { type Tally, tallyOf } from '../job/record.ts';
import { ArrivalLog } from './arrivals.ts';
import type { Leaf } from './baggage.ts';
import type { FanOut } from './fanout.ts';
import type { Outer, Run, Scope } from './run.ts';
import type { Version, Versions } from './versions.ts';

type PackedScope = [
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
  leaves: readonly Leaf[] | null,
  stored: number,
  rest: Uint8Array,
];
type PackedOuter = [run: Uint8Array, node: number, scope: number, path: readonly number[], context: Uint8Array];
type PackedFan = [id: number, count: number, index: number, at: number];
type PackedRun = [
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

export function encodeRun(run: Run): Uint8Array {
  const { outer } = run;
  const packed: PackedRun = [
    run.version.hash,
    run.createdUs,
    run.submittedBy,
    run.root,
    run.hooked,
    outer && [outer.run, outer.node, outer.scope, outer.path, outer.context],
    run.failure,
    run.jobs,
    run.scopesMade,
    run.fansMade,
    Array.from(run.fans.values(), ({ id, count, index, at }) => [id, count, index, at]),
    packScope(run.scopes.get(0)!),
    run.settled,
  ];
  const { failed, timed_out, dead } = run.unsuccessful;
  if (failed + timed_out + dead > 0) packed.push([failed, timed_out, dead]);
  return pack(packed);
}

export function encodeScope(scope: Scope): Uint8Array {
  return pack(packScope(scope));
}

function packScope(scope: Scope): PackedScope {
  return [
    scope.sequence,
    scope.parent,
    scope.path,
    scope.position,
    scope.live,
    scope.arrived,
    scope.failed,
    scope.bytes,
    scope.overflown,
    scope.depth,
    scope.origin.cause,
    scope.origin.context,
    scope.leaves && [...scope.leaves.values()],
    scope.stored,
    scope.rest.bytes(),
  ];
}

/** What a stored run says of its jobs: whether it is the root of its tree, and how many jobs inside it there must be. */
export function readJobsOf(value: Uint8Array): { readonly isRoot: boolean; readonly jobs: number } {
  const packed = unpack<PackedRun>(value);
  const [, , , root, , , , jobs] = packed;
  return { isRoot: root === null, jobs: jobs + (packed[12] ?? 0) };
}

export { readRunCounts } from './run-counts.ts';

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

/** Reads the inner scopes of a run. */
export function readScopes(reader: Reader, run: TreelessRun): void {
  for (const { key, value } of reader.scan('runs', { from: scopeKey(run.id, 1), to: scopeKey(run.id, 2 ** 32 - 1) })) {
    const number = Buffer.from(key).readUInt32BE(16);
    const bytes = Buffer.from(value);
    run.scopes.set(number, unpackScope(number, unpack<PackedScope>(bytes), bytes.length));
    run.bytes += bytes.length;
  }
}

/** A run without the tree of its root. */
export type TreelessRun = Omit<Run, 'tree'>;

/** The scopes inside the run are read by `readScopes`. */
export function decodeRun(id: JobId, name: string, value: Uint8Array, versions: Versions): TreelessRun {
  const [
    hash,
    createdUs,
    submittedBy,
    root,
    hooked,
    outer,
    failure,
    jobs,
    scopesMade,
    fansMade,
    fans,
    top,
    settled = 0,
    unsuccessful = [0, 0, 0],
  ] = unpack<PackedRun>(value);
  const version: Version = versions.ofHash(hash);
  return {
    id,
    name,
    version,
    createdUs,
    submittedBy,
    root,
    hooked,
    parent: null,
    outer: outer && unpackOuter(outer),
    failure,
    jobs,
    settled,
    unsuccessful: { failed: unsuccessful[0], timed_out: unsuccessful[1], dead: unsuccessful[2] },
    scopes: new Map([[0, unpackScope(0, top, 0)]]),
    scopesMade,
    fans: new Map(fans.map(fan => [fan[0], unpackFan(fan)])),
    fansMade,
    ownBytes: value.length,
    bytes: value.length,
    usedIn: 0,
    persisted: true,
    ended: false,
  };
}

function unpackOuter([run, node, scope, path, context]: PackedOuter): Outer {
  return { run, node, scope, path, context };
}

function unpackFan([id, count, index, at]: PackedFan): FanOut {
  return { id, count, index, at, plan: null, stored: true };
}

function unpackScope(id: number, packed: PackedScope, recordBytes: number): Scope {
  const [sequence, parent, path, position, live, arrived, failed, bytes, overflown, depth, ...more] = packed;
  const [cause, context, leaves, stored, rest] = more;
  return {
    id,
    sequence,
    parent,
    path,
    position,
    live,
    arrived,
    failed,
    bytes,
    overflown,
    depth,
    origin: { cause, context },
    kept: null,
    leaves: leaves && new Map(leaves.map(leaf => [JSON.stringify(leaf.keys), leaf])),
    stored,
    rest: new ArrivalLog(rest),
    fresh: { turn: -1, values: [] },
    recordBytes,
    persisted: true,
    dirty: false,
    known: null,
  };
}
