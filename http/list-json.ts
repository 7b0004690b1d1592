// Pages of the lists as JSON, and the cursors that lead from one page to the next.

import type { JobPage } from '../actors/job/job-page.ts';
import type { Place } from '../actors/job/journal.ts';
import { jobIdBytes } from '../runtime/ids.ts';
import { logParts, writeJobRow } from './job-json.ts';
import type { JsonPart } from './json-pieces.ts';
import { cursor } from './query.ts';
import type { LogDetail, LogPage } from './reads.ts';
import { timestamp } from './timestamp.ts';

export const jobsCursor = cursor('j', jobIdBytes);
/** Time in µs (8), place (4). */
export const logsCursor = cursor('l', 12);

export function writeJobs({ rows, total, more, atLeast, searchedUs }: JobPage): string {
  const next = more ? `,"next_cursor":"${jobsCursor.write(rows.at(-1)!.id)}"` : '';
  const searched = searchedUs == null ? '' : `,"searched_to":"${timestamp(searchedUs)}"`;
  const count = `"total":${total}${atLeast ? ',"total_at_least":true' : ''}`;
  return `{"jobs":[${rows.map(writeJobRow).join(',')}],${count}${searched}${next}}`;
}

export function* logsParts({ logs, total, next, unsearched: left }: LogPage, detail: LogDetail): Iterable<JsonPart> {
  let separator = '';
  yield '{"logs":[';
  for (const log of logs) {
    yield separator;
    yield* logParts(log, detail);
    separator = ',';
  }
  const more = next ? `,"next_cursor":"${logsCursor.write(placeBytes(next))}"` : '';
  yield `],"total":${total}${left > 0 ? `,"unsearched":${left}` : ''}${more}}`;
}

function placeBytes({ atUs, place }: Place): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeBigUInt64BE(BigInt(atUs), 0);
  bytes.writeUInt32BE(place, 8);
  return bytes;
}

export function readPlace(bytes: Buffer): Place {
  const atUs = bytes.readBigUInt64BE(0);
  const latest = BigInt(Number.MAX_SAFE_INTEGER);
  return { atUs: Number(atUs < latest ? atUs : latest), place: bytes.readUInt32BE(8) };
}
