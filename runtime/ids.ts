// A job id is a UUIDv7. Its first twelve bytes are the key of the job's block, and its last four bytes are the job's index in the block.
//
//   48 bits milliseconds | version | 12 bits counter | variant | 30 bits random | 32 bits index in the block
//
// All jobs of a block have the same plugin and command, and were accepted in one commit. A later block has a larger key.
import { copyBytes } from './bytes.ts';

/** The first 12 bytes of the ids of all jobs in a block. */
export type BlockKey = Uint8Array & { readonly __brand?: 'BlockKey' };
export type JobId = Uint8Array & { readonly __brand?: 'JobId' };

export const blockKeyBytes = 12;
export const jobIdBytes = 16;

/** Creates block keys in ascending order, even if the clock goes back. */
export type BlockKeys = { next(nowMs: number): BlockKey };

/**
 * `newest`: the largest key of a stored block, if there is one. `prunedMs`: the keys of removed blocks have this time or earlier ones. The new
 * keys are larger.
 */
export function makeBlockKeys(random32: () => number, newest?: BlockKey, prunedMs = -1): BlockKeys {
  let lastMs = Math.max(newest ? blockKeyMs(newest) : -1, prunedMs) + 1;
  let counter = 0;
  return {
    next(nowMs) {
      if (nowMs > lastMs) {
        lastMs = nowMs;
        counter = 0;
      } else if (++counter > 0xfff) {
        lastMs++;
        counter = 0;
      }
      const key = Buffer.allocUnsafeSlow(blockKeyBytes);
      key.writeUIntBE(lastMs, 0, 6);
      key.writeUInt16BE(0x7000 | counter, 6);
      key.writeUInt32BE((0x80000000 | (random32() & 0x3fffffff)) >>> 0, 8);
      return key;
    },
  };
}

/** The time in the key, in ms since the epoch: about when the key was created. */
export function blockKeyMs(key: BlockKey): number {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).readUIntBE(0, 6);
}

/**
 * The times in the keys of all blocks that one turn creates differ by less than this, in ms, even if the clock was set back: 4,096 blocks have
 * the same time, and a turn creates far fewer than 64 times as many.
 */
export const turnKeysMs = 64;

/** A key that is smaller than those of all blocks that the turn of this block created. */
export function keyBeforeTurnOf(key: BlockKey): BlockKey {
  const before = Buffer.alloc(blockKeyBytes);
  before.writeUIntBE(Math.max(0, blockKeyMs(key) - turnKeysMs), 0, 6);
  return before;
}

export function jobId(block: BlockKey, index: number): JobId {
  const id = Buffer.allocUnsafe(jobIdBytes);
  writeJobId(id, 0, block, index);
  return id;
}

export function writeJobId(into: Uint8Array, at: number, block: BlockKey, index: number): void {
  copyBytes(into, at, block);
  into[at + 12] = index >>> 24;
  into[at + 13] = index >>> 16;
  into[at + 14] = index >>> 8;
  into[at + 15] = index;
}

export function blockOf(id: JobId): BlockKey {
  return id.subarray(0, blockKeyBytes);
}

export function isOfBlock(id: JobId, block: BlockKey): boolean {
  for (let i = 0; i < blockKeyBytes; i++) if (id[i] !== block[i]) return false;
  return true;
}

export function indexOf(id: JobId): number {
  return ((id[12]! << 24) | (id[13]! << 16) | (id[14]! << 8) | id[15]!) >>> 0;
}

const hex: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The text form of a job id (RFC 9562), such as `0198c0de-0000-7000-8000-000000000000`. */
export function formatId(id: JobId): string {
  return idPrefix(id) + indexText(indexOf(id));
}

/** The prefix that the text forms of all job ids of a block have in common. */
export function idPrefix(block: BlockKey | JobId): string {
  const h = hex;
  return (
    h[block[0]!]! +
    h[block[1]!]! +
    h[block[2]!]! +
    h[block[3]!]! +
    '-' +
    h[block[4]!]! +
    h[block[5]!]! +
    '-' +
    h[block[6]!]! +
    h[block[7]!]! +
    '-' +
    h[block[8]!]! +
    h[block[9]!]! +
    '-' +
    h[block[10]!]! +
    h[block[11]!]!
  );
}

/** The last eight characters of the text form: the job's index in the block, in hex. */
export function indexText(index: number): string {
  return hex[index >>> 24]! + hex[(index >>> 16) & 0xff]! + hex[(index >>> 8) & 0xff]! + hex[index & 0xff]!;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** Parses the text form of a job id; undefined if the text is not a job id. */
export function parseId(text: string): JobId | undefined {
  return uuid.test(text) ? Buffer.from(text.replaceAll('-', ''), 'hex') : undefined;
}
