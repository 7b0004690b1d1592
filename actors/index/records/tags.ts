// The tags of jobs in the index: under the hash of each tag the blocks with such jobs, and under each block the hashes of its tags.
import { createHash } from 'node:crypto';
import { type BlockKey, blockKeyBytes } from '../../../runtime/ids.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';

/** The name under which the position of the index is stored: the newest block of the table of tagged jobs that it has taken. */
export const tagsName = Buffer.from('tags');
const hashBytes = 16;

/** `tag`: as `key:text`. It is hashed, because it may be longer than a key of the store. */
export function tagHash(tag: string): Uint8Array {
  return createHash('sha256').update(tag).digest().subarray(0, hashBytes);
}

/** Hash of the tag (16), block (12). */
export function tagKey(hash: Uint8Array, block: BlockKey): Buffer {
  return Buffer.concat([hash, block]);
}

export function blockOfTagKey(key: Uint8Array): BlockKey {
  return Buffer.from(key.subarray(hashBytes, hashBytes + blockKeyBytes));
}

/** The hashes that the record of a block has. */
export function hashesIn(value: Uint8Array): Uint8Array[] {
  const hashes: Uint8Array[] = [];
  for (let at = 0; at < value.length; at += hashBytes) hashes.push(Buffer.from(value.subarray(at, at + hashBytes)));
  return hashes;
}

/** The newest block whose tags are indexed. Null: none. */
export function taggedUpTo(index: Pick<Reader<IndexTable>, 'get'>): BlockKey | null {
  const value = index.get('positions', tagsName);
  return value ? Buffer.from(value) : null;
}

/** The smallest key above that of a block. */
export function behindBlock(key: BlockKey): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}
