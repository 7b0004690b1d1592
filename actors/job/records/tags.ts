// Tags: up to eight keys with a text each (runtime/tag-form.ts), which a call or a schedule gives to its job. All jobs of the job's
// tree have the same tags. The table `tagged` lists the blocks that contain tagged jobs, in order of acceptance; the index follows
// this table.
import type { BlockKey } from '../../../runtime/ids.ts';
import { canonicalText } from '../../../runtime/json-value.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';

/** The tags of a job as JSON: an object with its keys in order. Equal tags have equal texts. */
export type Tags = string;

/** The empty set of tags, which is never stored. A rerun with this set does not take the tags of the old job. */
export const noTags: Tags = '{}';

export function tagsOf(given: { readonly [key: string]: string }): Tags {
  return canonicalText(given);
}

/** Each tag as `key:text`. */
export function tagList(tags: Tags): string[] {
  const given: { readonly [key: string]: string } = JSON.parse(tags);
  return Object.entries(given).map(([key, text]) => `${key}:${text}`);
}

/** Whether the jobs of a group have all tags in `wanted`, each as `key:text`. */
export function hasTags({ options }: GroupWithTags, wanted: readonly string[]): boolean {
  if (wanted.length === 0) return true;
  if (options?.tags === undefined) return false;
  const list = tagList(options.tags);
  return wanted.every(tag => list.includes(tag));
}
type GroupWithTags = { readonly options: { readonly tags?: Tags } | null };

/** Lists a block in the table `tagged`. `count`: how many jobs of the block have tags. */
export function putTagged(batch: Batch, key: BlockKey, count: number): void {
  const value = Buffer.allocUnsafe(4);
  value.writeUInt32BE(count);
  batch.put('tagged', key, value);
}

export function taggedCount(value: Uint8Array): number {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).readUInt32BE(0);
}

/** Removes the entry of a pruned block, if it has one. */
export function pruneTagged(reader: Reader, batch: Batch, key: Uint8Array): void {
  if (reader.count('tagged') > 0) batch.remove('tagged', Buffer.from(key));
}
