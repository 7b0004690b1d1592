// Writes pages of the lists of jobs and logs as JSON, with their cursors.

import type { JournalPosition } from '../../actors/job/records/journal.ts';
import type { JobPage } from '../../actors/job/views/job-page.ts';
import type { LogDetail, LogPage } from '../reads/reads.ts';
import type { JsonPart } from './chunks.ts';
import { writeCursor } from './cursor.ts';
import { logParts, writeJobRow } from './job.ts';
import { timestamp } from './timestamp.ts';

/** The letters that identify the lists of jobs and logs in cursors. */
export const jobsList = 'j';
export const logsList = 'l';
/** The number of bytes of a journal position in a cursor: 8 for the commit's time in µs, and 4 for the place in the commit. */
export const logPlaceBytes = 12;

export function writeJobs({ rows, total, more, atLeast, searchedUs, unindexed }: JobPage): string {
  const next = more ? `,"next_cursor":"${writeCursor(jobsList, rows.at(-1)!.id)}"` : '';
  const searched = searchedUs == null ? '' : `,"searched_to":"${timestamp(searchedUs)}"`;
  const count = `"total":${total}${atLeast ? ',"total_at_least":true' : ''}`;
  const behind = unindexed === undefined ? '' : `,"index_behind":${unindexed}`;
  return `{"jobs":[${rows.map(writeJobRow).join(',')}],${count}${searched}${behind}${next}}`;
}

export function* logsParts({ logs, total, next, unsearched: left }: LogPage, detail: LogDetail): Iterable<JsonPart> {
  let separator = '';
  yield '{"logs":[';
  for (const log of logs) {
    yield separator;
    yield* logParts(log, detail);
    separator = ',';
  }
  const more = next ? `,"next_cursor":"${writeCursor(logsList, placeBytes(next))}"` : '';
  yield `],"total":${total}${left > 0 ? `,"unsearched":${left}` : ''}${more}}`;
}

/** Encodes a journal position for a cursor. `readPlace` decodes it. */
export function placeBytes({ atUs, place }: JournalPosition): Buffer {
  const bytes = Buffer.alloc(logPlaceBytes);
  bytes.writeBigUInt64BE(BigInt(atUs), 0);
  bytes.writeUInt32BE(place, 8);
  return bytes;
}

/** Decodes a journal position. A time above 2^53 − 1 µs, which no written cursor has, becomes 2^53 − 1. */
export function readPlace(bytes: Buffer): JournalPosition {
  const atUs = bytes.readBigUInt64BE(0);
  const latest = BigInt(Number.MAX_SAFE_INTEGER);
  return { atUs: Number(atUs < latest ? atUs : latest), place: bytes.readUInt32BE(8) };
}
