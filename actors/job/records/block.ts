// A block: jobs of one plugin and command that were accepted in the same commit, stored as one value that never changes.
//
// Decoding a block leaves its groups and payloads packed until they are used.
import { copyBytes, unpinned } from '../../../runtime/bytes.ts';
import type { EventEnvelope } from '../../../runtime/host/wire/plugin-host.ts';
import { type BlockKey, blockOf, indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import { PackedList } from '../../../runtime/packed-list.ts';
import { pack, packedNull, unpack } from '../../../runtime/packing.ts';
import { bytesHead } from '../../../runtime/splice.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { JobGroup, RerunFrom, RunPosition } from './job.ts';

/** A block is full when it has this many jobs, or about this many bytes of payloads and groups. Blocks of runs have other limits (run-jobs.ts). */
export const blockJobsMax = 1024;
export const blockBytesMax = 2 ** 20;

export interface Block {
  readonly plugin: string;
  readonly command: string;
  readonly createdUs: number;
  readonly count: number;
  /** The packed payload of a job. */
  payload(index: number): Uint8Array;
  /** The index of the first job of each group. Groups cover the jobs in order. */
  readonly starts: readonly number[];
  /** The group at this position. A decoded block returns the same object at each call. */
  group(place: number): JobGroup;
}

/** The index after the last job of a group. */
export function groupEnd({ starts, count }: Block, place: number): number {
  return starts[place + 1] ?? count;
}

/** A block that this turn fills. Encoding it releases the packets in which its jobs arrived. */
export class BlockBuilder implements Block {
  readonly starts: number[] = [];
  groups: JobGroup[] = [];
  count = 0;
  payloadBytes = 0;
  #payloads: Uint8Array[] = [];
  #packed: PackedList | null = null;
  groupsBytes = 0;
  /** The number of jobs that have tags. */
  tagged = 0;
  readonly key: BlockKey;
  readonly plugin: string;
  readonly command: string;
  readonly createdUs: number;

  constructor(key: BlockKey, plugin: string, command: string, createdUs: number) {
    this.key = key;
    this.plugin = plugin;
    this.command = command;
    this.createdUs = createdUs;
  }

  get bytes(): number {
    return this.payloadBytes + this.groupsBytes;
  }

  get full(): boolean {
    return this.count >= blockJobsMax || this.bytes >= blockBytesMax;
  }

  /** Adds a job. `alike`: whether the job belongs to the same group as the previous job. */
  add(payload: Uint8Array, group: JobGroup, alike: boolean): JobId {
    if (!alike) {
      this.starts.push(this.count);
      this.groups.push(group);
      this.groupsBytes += groupBytes(group);
    }
    if (group.options?.tags !== undefined) this.tagged++;
    this.#payloads.push(payload);
    this.payloadBytes += payload.length;
    return jobId(this.key, this.count++);
  }

  payload(index: number): Uint8Array {
    return this.#packed?.at(index) ?? this.#payloads[index]!;
  }

  group(place: number): JobGroup {
    return this.groups[place]!;
  }

  /** The stored form of the block. Each payload is copied once, into this value, and is read from the value afterwards. */
  encode(): Uint8Array {
    this.groups = this.groups.map(withOwnBytes);
    const groups = this.groups.map(group => pack(packGroup(group)));
    const ends = endsOf(this.#payloads);
    const kept: StoredBlock = [this.plugin, this.command, this.createdUs, this.starts, groups, ends, null];
    const before = pack(kept).subarray(0, -packedNull.length);
    const head = bytesHead(this.payloadBytes);
    const stored = Buffer.allocUnsafeSlow(before.length + head.length + this.payloadBytes);
    let at = copyBytes(stored, copyBytes(stored, 0, before), head);
    this.#packed = new PackedList({ ends, all: stored.subarray(at) });
    for (const payload of this.#payloads) at = copyBytes(stored, at, payload);
    this.#payloads = [];
    return stored;
  }
}

/** The end offset of each payload in the concatenated payloads, four bytes per offset. */
function endsOf(payloads: readonly Uint8Array[]): Uint8Array {
  const ends = Buffer.allocUnsafeSlow(payloads.length * 4);
  let at = 0;
  for (let index = 0; index < payloads.length; index++) {
    at += payloads[index]!.length;
    ends.writeUInt32LE(at, index * 4);
  }
  return ends;
}

/** The group with copies of those bytes that would otherwise keep the whole packet in memory. */
function withOwnBytes(group: JobGroup): JobGroup {
  const context = unpinned(group.context);
  if (context === group.context && group.rerun === null) return group;
  const { submittedBy, parent, root, depth, event, pipeline, stepId, run, hooked, options, limits, phase } = group;
  const rerun = group.rerun && { ...group.rerun, of: unpinned(group.rerun.of) };
  const places = { pipeline, stepId, run, hooked, rerun, options, limits, phase };
  return { submittedBy, parent, root, depth, event, context, ...places };
}

/** The approximate encoded length of a group, counting only the fields that may be long. */
function groupBytes({ context, event, run, options }: JobGroup): number {
  const texts = event === null ? 0 : Buffer.byteLength(event.type) + Buffer.byteLength(event.dedupeKey ?? '');
  const paths = run === null ? 0 : run.path.length + (run.within?.reduce((sum, path) => sum + path.length, 0) ?? 0);
  const tags = options?.tags === undefined ? 0 : Buffer.byteLength(options.tags);
  return context.length + texts + headersBytes(event) + 5 * paths + tags;
}

function headersBytes(event: EventEnvelope | null): number {
  if (event?.headers === undefined) return 0;
  return Object.entries(event.headers).reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0);
}

type StoredBlock = [
  plugin: string,
  command: string,
  createdUs: number,
  starts: number[],
  groups: Uint8Array[],
  ends: Uint8Array,
  /** Null only while a block is encoded. */
  payloads: Uint8Array | null,
];

class DecodedBlock implements Block {
  readonly plugin: string;
  readonly command: string;
  readonly createdUs: number;
  readonly count: number;
  readonly starts: readonly number[];
  readonly #packed: readonly Uint8Array[];
  readonly #groups: (JobGroup | undefined)[] = [];
  readonly #payloads: PackedList;

  constructor(bytes: Uint8Array) {
    const [plugin, command, createdUs, starts, groups, ends, payloads] = unpack<StoredBlock>(bytes);
    this.plugin = plugin;
    this.command = command;
    this.createdUs = createdUs;
    this.starts = starts;
    this.#packed = groups;
    this.#payloads = new PackedList({ ends, all: payloads! });
    this.count = this.#payloads.count;
  }

  payload(index: number): Uint8Array {
    return this.#payloads.at(index);
  }

  group(place: number): JobGroup {
    let group = this.#groups[place];
    if (!group) {
      group = unpackGroup(unpack(this.#packed[place]!));
      this.#groups[place] = group;
    }
    return group;
  }
}

export function decodeBlock(bytes: Uint8Array): Block {
  return new DecodedBlock(bytes);
}

/** Decodes the block and all its groups. `count`: the number of jobs in its open record, if it has one. Throws if the block is unusable. */
export function decodeWhole(bytes: Uint8Array, count?: number): Block {
  const block = decodeBlock(bytes);
  if (count !== undefined && block.count !== count)
    throw new Error(`the block has ${block.count} jobs, its open record ${count}`);
  for (let place = 0; place < block.starts.length; place++) block.group(place);
  return block;
}

type PackedRerun = readonly [of: JobId, from: RerunFrom, reason: string | null];

function packGroup(group: JobGroup) {
  const { event, run, rerun, options, limits, phase } = group;
  const packed = [
    group.submittedBy,
    group.parent,
    group.root,
    group.depth,
    event && packEvent(event),
    group.context,
    group.pipeline,
    group.stepId,
    run && packPosition(run),
    group.hooked,
  ] as const;
  // Trailing parts that the group does not have are left out.
  const again: PackedRerun | null = rerun && [rerun.of, rerun.from, rerun.reason];
  if (phase !== undefined) return [...packed, again, options, limits ?? null, phase] as const;
  if (limits !== undefined) return [...packed, again, options, limits] as const;
  if (options !== null) return [...packed, again, options] as const;
  return again === null ? packed : ([...packed, again] as const);
}

/** The stored form of a position. `within` is absent in the top scope. */
function packPosition({ run, node, scope, path, first, within }: RunPosition) {
  const position = [run, node, scope, path, first] as const;
  return within === undefined ? position : ([...position, within] as const);
}

/** The stored form of an event. The third field is null, and is ignored when read. `headers` is absent if the event has none. */
function packEvent({ type, source, dedupeKey, headers }: EventEnvelope) {
  const event = [type, source, null, dedupeKey] as const;
  return headers === undefined ? event : ([...event, headers] as const);
}

function unpackGroup(packed: ReturnType<typeof packGroup>): JobGroup {
  const [submittedBy, parent, root, depth, event, context, pipeline, stepId, position, hooked, ...more] = packed;
  const [rerun, options, limits, phase] = more;
  const run = position && unpackPosition(position);
  return {
    submittedBy,
    parent,
    root,
    depth,
    event: event && unpackEvent(event),
    context,
    pipeline,
    stepId,
    run,
    hooked,
    rerun: rerun ? { of: rerun[0], from: rerun[1], reason: rerun[2] } : null,
    options: options ?? null,
    limits: limits ?? undefined,
    phase,
  };
}

function unpackEvent([type, source, _, dedupeKey, headers]: ReturnType<typeof packEvent>): EventEnvelope {
  if (headers === undefined) return { type, source, dedupeKey };
  return { type, source, dedupeKey, headers };
}

function unpackPosition([run, node, scope, path, first, within]: ReturnType<typeof packPosition>): RunPosition {
  return within === undefined ? { run, node, scope, path, first } : { run, node, scope, path, first, within };
}

/** The group of a job, the position of the job in the group (`offset`), and how many jobs the group has from this job on (`left`). */
export function groupOf(
  block: Block,
  index: number,
): { readonly group: JobGroup; readonly offset: number; readonly left: number } {
  const { starts } = block;
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= index) low = middle;
    else high = middle - 1;
  }
  return { group: block.group(low), offset: index - starts[low]!, left: groupEnd(block, low) - index };
}

export function newestBlock(reader: Reader): BlockKey | undefined {
  for (const { key } of reader.scan('blocks', { reverse: true, limit: 1 })) return Buffer.from(key);
  return undefined;
}

/** The block of the job. Undefined: no stored job has this id. */
export function findBlock(reader: Reader, id: JobId): Block | undefined {
  const bytes = reader.get('blocks', blockOf(id));
  if (!bytes) return undefined;
  const block = decodeBlock(bytes);
  return indexOf(id) < block.count ? block : undefined;
}
