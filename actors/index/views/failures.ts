// The list of groups of failed jobs. The group that was seen last comes first.
import { keyAfter } from '../../../runtime/bytes.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { isBefore, type JournalPosition } from '../../job/records/journal.ts';
import { decodeGroup, type FailureGroup, failuresName } from '../records/failures.ts';
import { positionOf } from '../records/position.ts';

/** A filter for groups. A field that is null accepts every group. `fromUs`, `toUs`: the time range, inclusive, of the group's last job. */
export type FailureFilter = {
  readonly plugin: string | null;
  readonly command: string | null;
  readonly fromUs: number | null;
  readonly toUs: number | null;
};

/** `indexedUs`: the groups count the failed jobs that ended up to this time; null: no job is counted yet. */
export type FailurePage = {
  readonly groups: readonly FailureGroup[];
  readonly total: number;
  readonly more: boolean;
  readonly indexedUs: number | null;
};

const groupsPerStep = 64;

/** `before`: the last job of the last group of the previous page; null: the first page is wanted. */
export function* listFailures(
  index: Reader<IndexTable>,
  filter: FailureFilter,
  limit: number,
  before: JournalPosition | null,
): Sliced<FailurePage> {
  const { atUs } = positionOf(index, failuresName);
  const found: FailureGroup[] = [];
  for (let from: Buffer | null = null; ; ) {
    const entries = Array.from(
      index.scan('failures', { ...(from && { from }), limit: groupsPerStep }),
      ({ key, value }) => ({ key: Buffer.from(key), group: decodeGroup(key, value) }),
    );
    found.push(...entries.map(({ group }) => group).filter(group => matches(group, filter)));
    if (entries.length < groupsPerStep) break;
    from = keyAfter(entries.at(-1)!.key);
    yield;
  }
  const newest = found.toSorted((a, b) => (isBefore(a.last, b.last) ? 1 : -1));
  const behind = before === null ? newest : newest.filter(({ last }) => isBefore(last, before));
  return {
    groups: behind.slice(0, limit),
    total: found.length,
    more: behind.length > limit,
    // The index begins at the time 0, before any attempt has ended.
    indexedUs: atUs <= 1 ? null : atUs - 1,
  };
}

function matches({ plugin, command, last }: FailureGroup, filter: FailureFilter): boolean {
  return (
    (filter.plugin ?? plugin) === plugin &&
    (filter.command ?? command) === command &&
    last.atUs >= (filter.fromUs ?? 0) &&
    last.atUs <= (filter.toUs ?? Number.POSITIVE_INFINITY)
  );
}
