// The tags of jobs in the index. The table `tags` maps the hash of a tag to the blocks with jobs that have the tag. The table
// `tagged_blocks` maps a block to the hashes of all tags of its jobs.
import { createHash } from 'node:crypto';
import { type BlockKey, blockKeyBytes } from '../../../runtime/ids.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';

/**
 * The name under which the tag index stores its position: the key of the newest block that it has processed from the
 * ledger's table of tagged jobs.
 */
export const tagsName = Buffer.from('tags');
const hashBytes = 16;

/** `tag`: as `key:text`. A tag is hashed because it may be longer than the store allows for a key. */
export function tagHash(tag: string): Uint8Array {
  return createHash('sha256').update(tag).digest().subarray(0, hashBytes);
}

/** The key: hash of the tag (16), block (12). */
export function tagKey(hash: Uint8Array, block: BlockKey): Buffer {
  return Buffer.concat([hash, block]);
}

export function blockOfTagKey(key: Uint8Array): BlockKey {
  return Buffer.from(key.subarray(hashBytes, hashBytes + blockKeyBytes));
}

/** The hashes in a record of `tagged_blocks`. */
export function hashesIn(value: Uint8Array): Uint8Array[] {
  const hashes: Uint8Array[] = [];
  for (let at = 0; at < value.length; at += hashBytes) hashes.push(Buffer.from(value.subarray(at, at + hashBytes)));
  return hashes;
}

/** The newest block that the tag index has processed. Null: it has processed none. */
export function taggedUpTo(index: Pick<Reader<IndexTable>, 'get'>): BlockKey | null {
  const value = index.get('positions', tagsName);
  return value ? Buffer.from(value) : null;
}
