// The jobs of a delivery as the audit trail names them: an id, or the first and the last of neighbours in a block.
import { blockKeyBytes, formatId, jobIdBytes } from '../../../runtime/ids.ts';

const separator = '..';

/** `ids`: 16 bytes each. Neighbours that follow one another become one range. */
export function rangesOf(ids: Uint8Array): string[] {
  const bytes = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  const ranges: string[] = [];
  for (let first = 0; first < bytes.length; ) {
    let last = first;
    while (isNeighbour(bytes, last)) last += jobIdBytes;
    const start = formatId(bytes.subarray(first, first + jobIdBytes));
    const end = formatId(bytes.subarray(last, last + jobIdBytes));
    ranges.push(first === last ? start : `${start}${separator}${end}`);
    first = last + jobIdBytes;
  }
  return ranges;
}

/** Whether the id behind the one at this place is the next one of the same block. */
function isNeighbour(ids: Buffer, at: number): boolean {
  const next = at + jobIdBytes;
  if (next >= ids.length) return false;
  const isSameBlock = ids.compare(ids, at, at + blockKeyBytes, next, next + blockKeyBytes) === 0;
  return isSameBlock && ids.readUInt32BE(next + blockKeyBytes) === ids.readUInt32BE(at + blockKeyBytes) + 1;
}

/** Whether the job of this id is one of them. Ids in text sort as the jobs do. */
export function rangesHave(ranges: readonly string[], id: string): boolean {
  return ranges.some(range => {
    const [first, last = first] = range.split(separator);
    return first! <= id && id <= last!;
  });
}
