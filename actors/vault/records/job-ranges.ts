// How an audit record lists the jobs to which secrets were delivered. Each entry is the id of a job, or the first and last id of adjacent
// jobs of a block, as `first..last`.
import { blockKeyBytes, formatId, jobIdBytes } from '../../../runtime/ids.ts';

const separator = '..';

/** The entries for these jobs. `ids` has 16 bytes per job; adjacent ids become one entry. */
export function rangesOf(ids: Uint8Array): string[] {
  const bytes = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  const ranges: string[] = [];
  for (let first = 0; first < bytes.length; ) {
    let last = first;
    while (isAdjacent(bytes, last)) last += jobIdBytes;
    const start = formatId(bytes.subarray(first, first + jobIdBytes));
    const end = formatId(bytes.subarray(last, last + jobIdBytes));
    ranges.push(first === last ? start : `${start}${separator}${end}`);
    first = last + jobIdBytes;
  }
  return ranges;
}

/** Whether the id at the offset `at` is followed by the id of the next job of the same block. */
function isAdjacent(ids: Buffer, at: number): boolean {
  const next = at + jobIdBytes;
  if (next >= ids.length) return false;
  const isSameBlock = ids.compare(ids, at, at + blockKeyBytes, next, next + blockKeyBytes) === 0;
  return isSameBlock && ids.readUInt32BE(next + blockKeyBytes) === ids.readUInt32BE(at + blockKeyBytes) + 1;
}

/** Whether the ranges contain this id. Ids as text sort in the same order as their bytes. */
export function rangesHave(ranges: readonly string[], id: string): boolean {
  return ranges.some(range => {
    const [first, last = first] = range.split(separator);
    return first! <= id && id <= last!;
  });
}
