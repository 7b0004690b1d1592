// Invariants of tags: the table of tagged jobs agrees with the blocks, and a tree has the tags of its root.
import { hexOf } from '../../../runtime/bytes.ts';
import { formatId, type JobId, jobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Block, groupEnd } from '../records/block.ts';
import { groupIn } from '../records/cancel.ts';
import { keyText } from '../records/open.ts';
import { type Tags, taggedCount } from '../records/tags.ts';
import type { Invariant } from './invariant.ts';

/** The tags of a root. Null: the root has been pruned. */
type TagsOfRoot = { readonly tags: Tags | undefined } | null;

export function tagInvariants(reader: Reader, blockIn: (value: Uint8Array) => Block): readonly Invariant[] {
  return [
    { name: 'tagged_jobs_are_counted', table: 'tagged', wrong: countIsRight },
    { name: 'tagged_jobs_are_listed', table: 'blocks', wrong: taggedAreListed },
    { name: 'trees_have_the_tags_of_their_root', table: 'blocks', wrong: tagsAreInherited },
  ];

  function countIsRight(key: Uint8Array, value: Uint8Array): string | null {
    const bytes = reader.get('blocks', key);
    if (!bytes) return `the block ${hexOf(key)} is listed in tagged, but does not exist`;
    const counted = taggedIn(blockIn(bytes));
    const listed = taggedCount(value);
    return counted === listed
      ? null
      : `${counted} jobs of the block ${hexOf(key)} have tags, but tagged says ${listed}`;
  }

  function taggedAreListed(key: Uint8Array, value: Uint8Array): string | null {
    if (taggedIn(blockIn(value)) === 0 || reader.get('tagged', key)) return null;
    return `jobs of the block ${hexOf(key)} have tags, but the block is missing in tagged`;
  }

  function tagsAreInherited(key: Uint8Array, value: Uint8Array): string | null {
    const block = blockIn(value);
    const known = new Map<string, TagsOfRoot>();
    for (const [place, start] of block.starts.entries()) {
      const { root, options } = block.group(place);
      if (root === null) continue;
      const name = keyText(root);
      if (!known.has(name)) known.set(name, tagsOf(root));
      const top = known.get(name);
      if (!top || top.tags === options?.tags) continue;
      return `the job ${formatId(jobId(Buffer.from(key), start))} has other tags than its root ${formatId(root)}`;
    }
    return null;
  }

  function tagsOf(root: JobId): TagsOfRoot {
    const group = groupIn(reader, root);
    return group && { tags: group.options?.tags };
  }
}

function taggedIn(block: Block): number {
  let count = 0;
  for (const [place, start] of block.starts.entries()) {
    if (block.group(place).options?.tags !== undefined) count += groupEnd(block, place) - start;
  }
  return count;
}
