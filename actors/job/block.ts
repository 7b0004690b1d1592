// A block: jobs of one plugin and command accepted in one commit, stored as one value and never changed.
import { type BlockKey, blockOf, indexOf, type JobId, jobId } from '../../runtime/ids.ts';
import { pack, unpack } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { JobGroup, RunPosition } from './record.ts';

/** A block is closed when it holds so many jobs, or so many bytes of payload. */
export const blockJobsMax = 1024;
export const blockBytesMax = 2 ** 20;

/** `payloads` are packed; `groups` cover the jobs in order. */
export type Block = {
  readonly plugin: string;
  readonly command: string;
  readonly createdUs: number;
  readonly groups: readonly JobGroup[];
  readonly payloads: readonly Uint8Array[];
};

/** A block that is being filled in this turn. */
export class BlockBuilder implements Block {
  readonly groups: (JobGroup & { count: number })[] = [];
  readonly payloads: Uint8Array[] = [];
  bytes = 0;
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

  get full(): boolean {
    return this.payloads.length >= blockJobsMax || this.bytes >= blockBytesMax;
  }

  /** Adds one job; `alike` says that it belongs to the group before it. */
  add(payload: Uint8Array, group: Omit<JobGroup, 'count'>, alike: boolean): JobId {
    const last = this.groups.at(-1);
    if (alike && last) last.count++;
    else this.groups.push({ ...group, count: 1 });
    this.payloads.push(payload);
    this.bytes += payload.length;
    return jobId(this.key, this.payloads.length - 1);
  }
}

type PackedPosition = [run: Uint8Array, node: number, scope: number, path: number[], first: number | null];
type PackedEvent = [type: string, source: string, eventId: string | null, dedupeKey: string | null];
type PackedGroup = [
  count: number,
  submittedBy: string,
  parent: Uint8Array | null,
  root: Uint8Array | null,
  depth: number,
  event: PackedEvent | null,
  context: Uint8Array,
  pipeline: string | null,
  stepId: string | null,
  run: PackedPosition | null,
  hooked: boolean,
];
type PackedBlock = [plugin: string, command: string, createdUs: number, groups: PackedGroup[], payloads: Uint8Array[]];

export function encodeBlock(block: Block): Uint8Array {
  const packed: PackedBlock = [
    block.plugin,
    block.command,
    block.createdUs,
    block.groups.map(packGroup),
    block.payloads as Uint8Array[],
  ];
  return pack(packed);
}

export function decodeBlock(bytes: Uint8Array): Block {
  const [plugin, command, createdUs, groups, payloads] = unpack<PackedBlock>(bytes);
  return { plugin, command, createdUs, groups: groups.map(unpackGroup), payloads };
}

function packGroup(group: JobGroup): PackedGroup {
  const { event, run } = group;
  return [
    group.count,
    group.submittedBy,
    group.parent,
    group.root,
    group.depth,
    event && [event.type, event.source, event.eventId, event.dedupeKey],
    group.context,
    group.pipeline,
    group.stepId,
    run && [run.run, run.node, run.scope, run.path as number[], run.first],
    group.hooked,
  ];
}

function unpackGroup(packed: PackedGroup): JobGroup {
  const [count, submittedBy, parent, root, depth, event, context, pipeline, stepId, run, hooked] = packed;
  return {
    count,
    submittedBy,
    parent,
    root,
    depth,
    event: event && { type: event[0], source: event[1], eventId: event[2], dedupeKey: event[3] },
    context,
    pipeline,
    stepId,
    run: run && unpackPosition(run),
    hooked,
  };
}

function unpackPosition([run, node, scope, path, first]: PackedPosition): RunPosition {
  return { run, node, scope, path, first };
}

/** The group a job of the block belongs to, and its place in it. */
export function groupOf(block: Block, index: number): { readonly group: JobGroup; readonly offset: number } {
  if (block.groups.length === block.payloads.length) return { group: block.groups[index]!, offset: 0 };
  let start = 0;
  for (const group of block.groups) {
    if (index < start + group.count) return { group, offset: index - start };
    start += group.count;
  }
  throw new Error(`block of ${block.payloads.length} jobs has no job ${index}`);
}

/** The block an id lies in, if the id is a job's. */
export function findBlock(reader: Reader, id: JobId): Block | undefined {
  const bytes = reader.get('blocks', blockOf(id));
  if (!bytes) return undefined;
  const block = decodeBlock(bytes);
  return indexOf(id) < block.payloads.length ? block : undefined;
}
