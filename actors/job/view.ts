// Reading jobs from the store, on any thread.
import { decodeBody } from '../../runtime/host/outcome.ts';
import {
  type BlockKey,
  blockKeyBytes,
  blockOf,
  formatId,
  indexOf,
  type JobId,
  jobId,
  jobIdBytes,
} from '../../runtime/ids.ts';
import { type Json, unpack } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { type Attempt, attemptKey, decodeAttempt, errorOf, latestAttempt } from './attempt.ts';
import { type Block, groupOf } from './block.ts';
import { BlockShelf } from './block-shelf.ts';
import { keyText, OpenBlock } from './open.ts';
import type { Status } from './record.ts';
import { decodeRetry } from './retries.ts';

/** A job as the interface shows it (2.1), with times in µs since the epoch. */
export type JobView = {
  readonly jobId: string;
  readonly parentJobId: string | null;
  readonly plugin: string;
  readonly command: string;
  readonly status: Status;
  readonly submittedBy: string;
  readonly attempt: number;
  readonly createdUs: number;
  readonly startedUs: number | null;
  readonly completedUs: number | null;
  /** The plugin output (2.2), when there is one. */
  readonly output: { readonly [key: string]: Json } | null;
  readonly lastError: string | null;
};

/** The job of this id, as it is committed now; undefined when there is none. */
export function findJob(reader: Reader, id: JobId, blocks = new BlockShelf(reader)): JobView | undefined {
  const ending = latestAttempt(reader, id);
  // An attempt is pruned with its block.
  const block = ending ? blocks.find(blockOf(id)) : blocks.read(blockOf(id));
  return block && indexOf(id) < block.count ? viewOf(reader, block, id, ending) : undefined;
}

/** The job and all its descendants, parents before children; undefined when there is no such job. Lazy: use it up at once or in pages. */
export function findTree(reader: Reader, id: JobId, blocks = new BlockShelf(reader)): Iterable<JobView> | undefined {
  const job = findJob(reader, id, blocks);
  return job && walkTree(reader, blocks, id, job);
}

function* walkTree(reader: Reader, blocks: BlockShelf, id: JobId, job: JobView): Iterable<JobView> {
  yield job;
  const block = blocks.find(blockOf(id));
  if (!block) return;
  const { root } = groupOf(block, indexOf(id)).group;
  const whole = root === null;
  // Below another job of the tree: only what descends from it.
  const inside = whole ? null : new Set([formatId(id)]);
  let from = Buffer.concat([root ?? id, Buffer.alloc(blockKeyBytes)]);
  const to = Buffer.concat([root ?? id, Buffer.alloc(blockKeyBytes, 0xff)]);
  for (;;) {
    // A few blocks at a time: no scan stays open while the reader waits for its next page.
    const entries = [...reader.scan('tree', { from, to, limit: entriesAtOnce })];
    for (const entry of entries) {
      const key = Buffer.from(entry.key.subarray(jobIdBytes));
      // An entry of the tree is pruned with its block.
      const members = blocks.find(key);
      if (members) yield* jobsOf(reader, members, key, rangesOf(entry.value), inside);
    }
    if (entries.length < entriesAtOnce) return;
    from = Buffer.concat([entries.at(-1)!.key, Buffer.of(0)]);
  }
}

/** Entries of the tree that are read in one scan. */
const entriesAtOnce = 16;

function* jobsOf(
  reader: Reader,
  block: Block,
  key: BlockKey,
  ranges: readonly number[],
  inside: Set<string> | null,
): Iterable<JobView> {
  const open = openOf(reader, key);
  for (let pair = 0; pair < ranges.length; pair += 2) {
    const endings = endingsOf(reader, key, ranges[pair]!, ranges[pair + 1]!);
    for (let index = ranges[pair]!; index < ranges[pair + 1]!; index++) {
      const view = assemble(reader, block, jobId(key, index), endings.get(index), open);
      if (inside) {
        if (view.parentJobId === null || !inside.has(view.parentJobId)) continue;
        inside.add(view.jobId);
      }
      yield view;
    }
  }
}

export type Ending = { readonly number: number; readonly attempt: Attempt };

/** The latest attempt of each of these jobs of a block, in one scan. */
export function endingsOf(reader: Reader, key: BlockKey, from: number, to: number): Map<number, Ending> {
  const endings = new Map<number, Ending>();
  const range = { from: attemptKey(jobId(key, from), 0), to: attemptKey(jobId(key, to), 0) };
  for (const entry of reader.scan('attempts', range)) {
    const number = (entry.key[16]! << 8) | entry.key[17]!;
    endings.set(indexOf(entry.key.subarray(0, jobIdBytes)), { number, attempt: decodeAttempt(entry.value) });
  }
  return endings;
}

function rangesOf(value: Uint8Array): number[] {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  return Array.from({ length: value.length / 4 }, (_, i) => view.getUint32(i * 4, true));
}

export function openOf(reader: Reader, key: BlockKey): OpenBlock | undefined {
  const bytes = reader.get('open', key);
  return bytes && OpenBlock.decode(keyText(key), bytes);
}

function viewOf(reader: Reader, block: Block, id: JobId, ending: Ending | undefined): JobView {
  const open = ending?.attempt.final ? undefined : openOf(reader, blockOf(id));
  return assemble(reader, block, id, ending, open);
}

function assemble(
  reader: Reader,
  block: Block,
  id: JobId,
  ending: Ending | undefined,
  open: OpenBlock | undefined,
): JobView {
  const { group } = groupOf(block, indexOf(id));
  const last = ending?.attempt;
  const final = last?.final === true;
  const outUs = final || open === undefined ? null : runningSince(reader, open, id, ending !== undefined);
  const running = outUs !== null;
  return {
    jobId: formatId(id),
    parentJobId: group.parent && formatId(group.parent),
    plugin: block.plugin,
    command: block.command,
    status: final ? last.status : running ? 'running' : 'queued',
    submittedBy: group.submittedBy,
    attempt: (ending?.number ?? 0) + (running ? 1 : 0),
    createdUs: block.createdUs,
    startedUs: outUs ?? last?.startedUs ?? null,
    completedUs: final ? last.completedUs : null,
    output: final ? outputOf(last) : null,
    lastError: last ? errorOf(last.body) : null,
  };
}

/** Null: it waits. A retried job says so in its record of retries; any other by its place in the open record. */
function runningSince(reader: Reader, open: OpenBlock, id: JobId, retried: boolean): number | null {
  if (!retried) return open.isOut(indexOf(id)) ? open.outUs : null;
  const bytes = reader.get('retries', id);
  const retry = bytes && decodeRetry(bytes);
  return retry && retry.stage !== 'waiting' ? retry.dueUs : null;
}

/** Which steps of pipelines jobs are of, for whoever asks for many in the order of their ends. */
export class Steps {
  readonly #blocks: BlockShelf;

  constructor(reader: Reader) {
    this.#blocks = new BlockShelf(reader);
  }

  /** Null: of none, or the job is pruned. */
  find(id: JobId): { readonly pipeline: string; readonly stepId: string } | null {
    const block = this.#blocks.find(blockOf(id));
    if (!block) return null;
    const { pipeline, stepId } = groupOf(block, indexOf(id)).group;
    return pipeline === null || stepId === null ? null : { pipeline, stepId };
  }
}

/** The plugin output (interface, 2.2): with empty parts where the response had none. */
export function outputOf(attempt: Attempt): { readonly [key: string]: Json } {
  const parts = decodeBody(attempt.body);
  return {
    status: attempt.status === 'succeeded' ? 'ok' : 'error',
    result: parts.result ? unpack(parts.result) : null,
    ...(parts.error && { error: Buffer.from(parts.error).toString() }),
    events: parts.events ? unpack(parts.events) : [],
    state_updates: parts.state_updates ? unpack(parts.state_updates) : {},
    logs: parts.logs ? unpack(parts.logs) : [],
  };
}
