// Exports a state as lines of JSON: its schedules, then its jobs in the order of their acceptance, each followed by its logs.
import { findBlock } from '../../actors/job/records/block.ts';
import { BlockCache } from '../../actors/job/views/block-cache.ts';
import { findJob } from '../../actors/job/views/jobs.ts';
import { logsOfJob } from '../../actors/job/views/log-listing.ts';
import { removedSchedules, viewSchedule } from '../../actors/schedule/views/schedules.ts';
import type { Config } from '../../config/config.ts';
import { hexOf } from '../../runtime/bytes.ts';
import { type BlockKey, type JobId, jobId } from '../../runtime/ids.ts';
import { isStoreFault } from '../../runtime/store/fault.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { type JsonPart, jsonChunks } from '../json/chunks.ts';
import { jobParts, logParts } from '../json/job.ts';
import { scheduleDocument } from '../json/schedule.ts';

/** Lines are collected until they have this many characters. */
const pieceChars = 65_536;
/** How many keys of blocks one scan reads. */
const blocksPerScan = 256;

/**
 * The lines, in pieces. Each line is an object with the fields of the API and `kind`: `schedule`, `job` or `log`. Between two pieces the
 * reader may see newer commits. Memory is bounded by the largest block and the largest job. Blocks and jobs that cannot be read are left out;
 * `onUnreadable` gets the key of each, in hex.
 */
export function* exportLines(
  reader: Reader,
  { schedules }: Config,
  nowMs: number,
  onUnreadable: (key: string) => void,
): Iterable<string> {
  let piece = '';
  for (const line of allLines(reader, schedules, nowMs, onUnreadable)) {
    piece += line;
    if (piece.length < pieceChars) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

function* allLines(
  reader: Reader,
  schedules: Config['schedules'],
  nowMs: number,
  onUnreadable: (key: string) => void,
): Iterable<string> {
  const views = [
    ...schedules.map(definition => viewSchedule(reader, definition, nowMs)),
    ...removedSchedules(reader, new Set(schedules.map(({ id }) => id))),
  ];
  for (const view of views) yield* lineOf('schedule', [JSON.stringify(scheduleDocument(view))]);
  /** The result of `read`. If the block or job with this key cannot be read, reports the key and returns undefined. */
  function tried<T>(key: Uint8Array, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (isStoreFault(error)) throw error;
      onUnreadable(hexOf(key));
      return undefined;
    }
  }
  for (const key of blockKeys(reader)) {
    const blocks = new BlockCache(reader);
    const count = tried(key, () => findBlock(reader, jobId(key, 0))?.count) ?? 0;
    for (let index = 0; index < count; index++) {
      const id = jobId(key, index);
      yield* tried(id, () => Array.from(linesOfJob(reader, id, blocks))) ?? [];
    }
  }
}

/** The lines of the job and of its logs. There are none if retention has removed the job meanwhile. */
function* linesOfJob(reader: Reader, id: JobId, blocks: BlockCache): Iterable<string> {
  const job = findJob(reader, id, blocks);
  if (!job) return;
  yield* lineOf('job', jobParts(job, 'whole', null));
  for (const log of logsOfJob(reader, id)) yield* lineOf('log', logParts(log, 'result'));
}

function* blockKeys(reader: Reader): Iterable<BlockKey> {
  for (let from: Uint8Array = Buffer.alloc(1); ; ) {
    const keys = Array.from(reader.keys('blocks', { from, limit: blocksPerScan }), key => Buffer.from(key));
    yield* keys;
    const last = keys.at(-1);
    if (last === undefined) return;
    from = Buffer.concat([last, Buffer.of(0)]);
  }
}

/** The line of a document, whose text begins with `{`. */
function* lineOf(kind: string, parts: Iterable<JsonPart>): Iterable<string> {
  let isFirst = true;
  for (const chunk of jsonChunks(parts)) {
    yield isFirst ? `{"kind":"${kind}",${chunk.slice(1)}` : chunk;
    isFirst = false;
  }
  yield '\n';
}
