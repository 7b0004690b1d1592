// What is stored of an unfinished run: one value of its own, and one for each inner scope.
import type { JobId } from '../../runtime/ids.ts';
import { pack, unpack } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { ArrivalLog } from './arrivals.ts';
import type { Leaf } from './baggage.ts';
import type { FanOut } from './fanout.ts';
import { idText, type Outer, type Run, type Scope } from './run.ts';
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
  ];
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

/** Reads all unfinished runs, by the text of their ids. */
export function loadRuns(reader: Reader, versions: Versions): Map<string, Run> {
  const runs = new Map<string, Run>();
  for (const { key, value } of reader.scan('runs', {})) {
    const id = Buffer.from(key.subarray(0, 16));
    if (key.length === 16) {
      const run = decodeRun(id, unpack<PackedRun>(value), versions);
      runs.set(idText(id), run);
    } else {
      const number = Buffer.from(key).readUInt32BE(16);
      const run = runs.get(idText(id))!;
      run.scopes.set(number, unpackScope(number, unpack<PackedScope>(value)));
    }
  }
  return runs;
}

function decodeRun(id: JobId, packed: PackedRun, versions: Versions): Run {
  const [hash, createdUs, submittedBy, root, hooked, outer, failure, jobs, scopesMade, fansMade, fans, top] = packed;
  const version: Version = versions.ofHash(hash);
  versions.hold(version);
  return {
    id,
    version,
    createdUs,
    submittedBy,
    root,
    hooked,
    outer: outer && unpackOuter(outer),
    failure,
    jobs,
    scopes: new Map([[0, unpackScope(0, top)]]),
    scopesMade,
    fans: new Map(fans.map(fan => [fan[0], unpackFan(fan)])),
    fansMade,
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

function unpackScope(id: number, packed: PackedScope): Scope {
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
    leaves: leaves && new Map(leaves.map(leaf => [JSON.stringify(leaf.keys), leaf])),
    stored,
    rest: new ArrivalLog(rest),
    fresh: { turn: -1, values: [] },
    persisted: true,
    dirty: false,
    known: null,
  };
}
