// Unfinished runs as the engine has them, written to their records and read back.
import type { JobId } from '../../runtime/ids.ts';
import { pack, unpack } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { DefinitionVersions, Version } from './definition-versions.ts';
import type { FanOut } from './fanout.ts';
import { ArrivalLog } from './records/arrivals.ts';
import { type PackedFan, type PackedOuter, type PackedRun, type PackedScope, scopeKey } from './records/run.ts';
import type { CallSite, Run, Scope } from './run.ts';

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
    scope.merged && [...scope.merged.values()],
    scope.stored,
    scope.inlineArrivals.bytes(),
  ];
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
export function decodeRun(id: JobId, name: string, value: Uint8Array, versions: DefinitionVersions): TreelessRun {
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

function unpackOuter([run, node, scope, path, context]: PackedOuter): CallSite {
  return { run, node, scope, path, context };
}

function unpackFan([id, count, index, at]: PackedFan): FanOut {
  return { id, count, index, at, plan: null, stored: true };
}

function unpackScope(id: number, packed: PackedScope, recordBytes: number): Scope {
  const [sequence, parent, path, position, live, arrived, failed, bytes, overflown, depth, ...more] = packed;
  const [cause, context, merged, stored, rest] = more;
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
    merged: merged && new Map(merged.map(value => [JSON.stringify(value.keys), value])),
    stored,
    inlineArrivals: new ArrivalLog(rest),
    fresh: { turn: -1, values: [] },
    recordBytes,
    persisted: true,
    dirty: false,
    lastEqualContext: null,
  };
}
