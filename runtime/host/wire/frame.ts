// A frame of tasks on the wire. The ledger thread writes it, and the host reads it. Its layout, with sizes in bytes:
//
//   frame id (8) | generation (4) | plugin (4) | number of tasks (4) | length of the header (4) | time limit in ms (8)
//   | length of the secrets (4) | runner (2) | concurrency (2) | attempts (4 a task) | payload lengths (4 a task)
//   | header (packed) | secrets | state | ids (16 a task) | contexts | payloads
import { formatId, jobIdBytes } from '../../ids.ts';
import { pack, unpack } from '../../packing.ts';
import { checkParts, chunksOf, isParted, lengthOf, type PartReader, wholeOf } from '../../parted.ts';
import { allocateMessage, type Message } from './message.ts';
import type { EventEnvelope, EventHeaders, TaskFrame, TaskGroup } from './plugin-host.ts';

/** The fields of a frame that can be read without decoding its header. */
export type FrameHead = {
  readonly frameId: number;
  readonly generation: number;
  /** The position of the plugin instance in the list of plugins that the host was configured with. */
  readonly plugin: number;
  readonly count: number;
  readonly deadlineMs: number;
  /** Only hosts that run tasks concurrently (`HostOptions.isConcurrent`) use `runner` and `concurrency`. */
  readonly runner: number;
  readonly concurrency: number;
  /** The secrets of the plugin, packed; null if there are none. */
  readonly secrets: Uint8Array | null;
};

const fixedBytes = 40;
/** The number on the wire that stands for "no runner". */
const noRunner = 0xffff;

/**
 * If a frame's last payload has at least this length, the payload is not copied into the head of the message, but sent after the head. If
 * the payload is a value in parts, the parts are read only when they are sent.
 */
const ownBytesMin = 2 ** 20;

/**
 * Encodes a frame as a message. `plugin`: the position of the instance in the list of plugins of this generation. Throws if parts
 * of a payload are no longer stored.
 */
export function encodeFrame(frame: TaskFrame, generation: number, plugin: number): Message {
  const { groups, attempts, state, secrets, ids, parts = noParts } = frame;
  const count = frame.payloads.length;
  const final = frame.payloads.at(-1)!;
  const long = isParted(final) && lengthOf(final) >= ownBytesMin ? final : null;
  const payloads = frame.payloads.map(payload => (payload === long ? payload : wholeOf(parts, payload)));
  if (long) checkParts(parts, long);
  const packed = pack([
    frame.command,
    state.length,
    groups.map(g => [g.count, g.context.length, g.pipeline, g.stepId, g.depth, g.createdUs, eventFields(g)]),
  ]);
  let bytes = fixedBytes + 8 * count + packed.length + state.length + (secrets?.length ?? 0) + ids.length;
  for (const group of groups) bytes += group.context.length;
  for (const payload of payloads) bytes += lengthOf(payload);
  const last = payloads.at(-1)!;
  const own = lengthOf(last) >= ownBytesMin ? last : null;

  const { message, bodyAt } = allocateMessage('frame', bytes, own ? lengthOf(own) : 0);
  let at = bodyAt;
  at = message.writeDoubleLE(frame.frameId, at);
  at = message.writeUInt32LE(generation, at);
  at = message.writeUInt32LE(plugin, at);
  at = message.writeUInt32LE(count, at);
  at = message.writeUInt32LE(packed.length, at);
  at = message.writeDoubleLE(frame.deadlineMs, at);
  at = message.writeUInt32LE(secrets?.length ?? 0, at);
  at = message.writeUInt16LE(frame.runner === undefined || frame.runner < 0 ? noRunner : frame.runner, at);
  at = message.writeUInt16LE(frame.concurrency ?? 1, at);
  for (let i = 0; i < count; i++) at = message.writeUInt32LE(attempts[i]!, at);
  for (let i = 0; i < count; i++) at = message.writeUInt32LE(lengthOf(payloads[i]!), at);
  const put = (part: Uint8Array) => {
    message.set(part, at);
    at += part.length;
  };
  put(packed);
  if (secrets) put(secrets);
  put(state);
  put(ids);
  for (const group of groups) put(group.context);
  for (let i = 0; i < count - (own ? 1 : 0); i++) put(payloads[i]!);
  if (long) return { head: message, more: () => chunksOf(parts, long) };
  return own ? { head: message, more: () => [own] } : { head: message };
}

const noParts: PartReader = { get: () => undefined, has: () => false };

function eventFields({ event }: TaskGroup): unknown {
  if (event === null) return null;
  const { type, source, dedupeKey, headers } = event;
  return headers === undefined ? [type, source, dedupeKey] : [type, source, dedupeKey, headers];
}

export function frameHead(bytes: Buffer): FrameHead {
  const count = bytes.readUInt32LE(16);
  const secretsBytes = bytes.readUInt32LE(32);
  const secretsAt = fixedBytes + 8 * count + bytes.readUInt32LE(20);
  return {
    frameId: bytes.readDoubleLE(0),
    generation: bytes.readUInt32LE(8),
    plugin: bytes.readUInt32LE(12),
    count,
    deadlineMs: bytes.readDoubleLE(24),
    runner: bytes.readUInt16LE(36),
    concurrency: bytes.readUInt16LE(38),
    secrets: secretsBytes === 0 ? null : bytes.subarray(secretsAt, secretsAt + secretsBytes),
  };
}

export type FrameGroup = Omit<TaskGroup, 'count'> & {
  /** The position of the first task after this group. */
  readonly end: number;
};

type Secrets = { readonly [name: string]: string };

/** Reads a frame. Payloads, contexts and secrets stay encoded until they are used. */
export class FrameReader {
  readonly head: FrameHead;
  readonly command: string;
  readonly state: Uint8Array;
  readonly secrets: Uint8Array | null;
  readonly #bytes: Buffer;
  readonly #groups: readonly FrameGroup[];
  readonly #idsAt: number;
  readonly #payloadEnds: Uint32Array;
  readonly #payloadsAt: number;
  #group = 0;
  #unpackedSecrets: Secrets | null = null;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.head = frameHead(bytes);
    const { count } = this.head;
    let at = fixedBytes + 4 * count;
    this.#payloadEnds = new Uint32Array(count);
    for (let i = 0, end = 0; i < count; i++, at += 4) {
      end += bytes.readUInt32LE(at);
      this.#payloadEnds[i] = end;
    }
    const take = (length: number) => {
      at += length;
      return bytes.subarray(at - length, at);
    };
    const [command, stateBytes, groups] = unpack<PackedHeader>(take(bytes.readUInt32LE(20)));
    this.command = command;
    this.secrets = this.head.secrets;
    take(this.secrets?.length ?? 0);
    this.state = take(stateBytes);
    this.#idsAt = at;
    at += count * jobIdBytes;
    let end = 0;
    this.#groups = groups.map(([tasks, contextBytes, pipeline, stepId, depth, createdUs, packed]) => {
      end += tasks;
      const event = packed && eventOf(packed);
      return { end, context: take(contextBytes), pipeline, stepId, depth, event, createdUs };
    });
    this.#payloadsAt = at;
  }

  /** The secrets in a new object; null if there are none. Each task gets its own object, because plugin code may change it. */
  freshSecrets(): Secrets | null {
    if (this.secrets === null) return null;
    this.#unpackedSecrets ??= unpack<Secrets>(this.secrets);
    return { ...this.#unpackedSecrets };
  }

  jobId(task: number): string {
    const at = this.#idsAt + task * jobIdBytes;
    return formatId(this.#bytes.subarray(at, at + jobIdBytes));
  }

  attempt(task: number): number {
    return this.#bytes.readUInt32LE(fixedBytes + 4 * task);
  }

  payload(task: number): Uint8Array {
    const start = task === 0 ? 0 : this.#payloadEnds[task - 1]!;
    return this.#bytes.subarray(this.#payloadsAt + start, this.#payloadsAt + this.#payloadEnds[task]!);
  }

  /** The fields that the task shares with the other tasks of its group. Must be called with tasks in ascending order. */
  group(task: number): FrameGroup {
    while (task >= this.#groups[this.#group]!.end) this.#group++;
    return this.#groups[this.#group]!;
  }
}

type PackedEvent = [type: string, source: string, dedupeKey: string | null, headers?: EventHeaders];
type PackedGroup = [
  count: number,
  contextBytes: number,
  pipeline: string | null,
  stepId: string | null,
  depth: number,
  createdUs: number,
  event: PackedEvent | null,
];
type PackedHeader = [command: string, stateBytes: number, groups: readonly PackedGroup[]];

function eventOf([type, source, dedupeKey, headers]: PackedEvent): EventEnvelope {
  if (headers === undefined) return { type, source, dedupeKey };
  return { type, source, dedupeKey, headers };
}
