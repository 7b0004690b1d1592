// The keys of two tables from which jobs are listed: `by_command` has the blocks of each plugin and command, and `unsuccessful` has the jobs
// that did not succeed.
import { blockKeyBytes, type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import { type Status, statuses } from './job.ts';

/** Greater than every block key. */
export const endOfBlocks = Buffer.alloc(blockKeyBytes, 0xff);
/** Greater than every job id. */
export const endOfIds = Buffer.alloc(jobIdBytes, 0xff);

/** The ids in these bytes, which have 16 bytes per id. */
export function idsIn(bytes: Uint8Array): JobId[] {
  const ids: JobId[] = [];
  for (let at = 0; at < bytes.length; at += jobIdBytes) ids.push(Buffer.from(bytes.subarray(at, at + jobIdBytes)));
  return ids;
}

/** The prefix of all keys of the plugin and command with this number (name-table.ts). */
export function numberKey(number: number): Buffer {
  const key = Buffer.allocUnsafe(4);
  key.writeUInt32BE(number);
  return key;
}

/** The key of a block in the table `by_command`. */
export function byCommandKey(number: number, block: Uint8Array): Buffer {
  const key = Buffer.allocUnsafe(4 + block.length);
  key.writeUInt32BE(number, 0);
  key.set(block, 4);
  return key;
}

/** The key of a job in the table `unsuccessful`. */
export function unsuccessfulKey(number: number, status: Status, id: Uint8Array): Buffer {
  const key = Buffer.allocUnsafe(5 + id.length);
  key.writeUInt32BE(number, 0);
  key[4] = statuses.indexOf(status);
  key.set(id, 5);
  return key;
}
