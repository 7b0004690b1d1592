// The list of jobs by tags against a naive model, however far the index is: jobs are accepted, indexed and pruned in any order.
import { expect, test } from 'vitest';
import { TagIndex } from '../../../actors/index/tag-index.ts';
import { inBoth } from '../../../actors/index/views/tagged-jobs.ts';
import type { Selection } from '../../../actors/job/records/action.ts';
import { tagList, tagsOf } from '../../../actors/job/records/tags.ts';
import type { JobPage } from '../../../actors/job/views/job-page.ts';
import { formatId, type JobId } from '../../../runtime/ids.ts';
import { openSelecting } from '../../../service/reads/selecting.ts';
import { listByTags } from '../../../service/reads/tag-list.ts';
import { fc } from '../../support/seed.ts';
import { inSlices } from '../../support/slices.ts';
import { Ledger, type NaiveJob } from '../search/ledger.ts';
import { storages } from '../search/storage.ts';
import { block, settledBlock } from '../search/stories.ts';

const tags = fc
  .constantFrom({}, {}, { a: '1' }, { a: '2' }, { a: '1', b: 'x' }, { b: 'x', c: 'ü' })
  .map(given => (Object.keys(given).length === 0 ? undefined : tagsOf(given)));
const tagged = fc
  .tuple(fc.oneof(block, settledBlock), fc.array(tags, { minLength: 5, maxLength: 5 }))
  .map(([story, given]) => ({ ...story, tags: given }));
const step = fc.oneof(
  { weight: 6, arbitrary: tagged.map(story => ({ add: story })) },
  { weight: 2, arbitrary: fc.constant({ index: true as const }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 12 }).map(prune => ({ prune })) },
);
const asked = fc.record({
  tags: fc.constantFrom(['a:1'], ['a:2'], ['b:x'], ['a:1', 'b:x'], ['c:ü', 'b:x'], ['a:1', 'a:2'], ['d:']),
  plugin: fc.option(fc.constantFrom('alpha', 'beta'), { nil: null }),
  status: fc.option(fc.constantFrom('queued', 'succeeded', 'failed', 'cancelled'), { nil: null }),
  limit: fc.integer({ min: 1, max: 6 }),
  unindexedMax: fc.constantFrom(0, 1, 1_000),
});

const hasAll = (job: NaiveJob, wanted: readonly string[]) => {
  const own = job.tags === undefined ? [] : tagList(job.tags);
  return wanted.every(tag => own.includes(tag));
};

test.each(storages)('lists and actions find the jobs with the tags, each once (%s)', async (_, numRuns, open) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 16 }), fc.array(asked, { maxLength: 6 }), async (steps, questions) => {
      const { store, index, close } = open();
      const ledger = new Ledger(store);
      const indexing = new TagIndex({ ledger: store, index });
      /** The newest block that the index has taken. */
      let taken = -1;
      let blocks = 0;
      for (const one of steps) {
        if ('add' in one) {
          ledger.add(one.add);
          if (one.add.jobs.length > 0) blocks++;
        } else if ('prune' in one) ledger.prune(one.prune);
        else {
          while (indexing.take());
          taken = blocks - 1;
        }
        if (steps.length % 2 === 0) while (indexing.prune());
      }
      const newest = ledger.jobs.toSorted((a, b) => (a.id < b.id ? 1 : -1));
      const selecting = openSelecting(store, () => index);
      for (const { limit, unindexedMax, ...filter } of questions) {
        const tail = [
          ...new Set(newest.filter(job => job.block > taken && blockHasTags(ledger, job.block)).map(job => job.block)),
        ];
        const skipped = new Set(tail.slice(unindexedMax));
        const fits = (job: NaiveJob) =>
          hasAll(job, filter.tags) &&
          (filter.plugin ?? job.plugin) === job.plugin &&
          (filter.status ?? job.status) === job.status;
        const wanted = newest.filter(job => fits(job) && !skipped.has(job.block)).map(({ id }) => id);
        const unindexed = newest.filter(job => job.tags !== undefined && skipped.has(job.block)).length;
        const seen: string[] = [];
        for (let before: JobId | null = null; ; ) {
          const search = { filter: { ...filter, command: null, within: [] }, limit, before, unindexedMax };
          const page: JobPage = await inSlices(listByTags(store, index, search), () => {});
          expect([page.total, page.unindexed]).toEqual([wanted.length, unindexed]);
          expect(page.rows.length).toBeLessThanOrEqual(limit);
          seen.push(...page.rows.map(({ id }) => formatId(id)));
          if (!page.more) break;
          before = page.rows.at(-1)!.id;
        }
        expect(seen).toEqual(wanted);
        // An action with this filter also takes jobs that the index lacks.
        const moment = { atUs: 1e16, block: Buffer.alloc(12, 0xff), commitUs: 1e16 };
        const selection = { ...nothing, ...filter, children: true };
        const page = await inSlices(
          selecting.next({ kind: 'next_matches', selection, moment, searchedUs: null, after: null }),
          () => {},
        );
        const all = newest.filter(fits).map(({ id }) => id);
        expect(idsIn(page.ids)).toEqual(all.toReversed());
      }
      // Pruned jobs leave nothing behind in the index.
      ledger.prune(0);
      while (indexing.take());
      while (indexing.prune());
      const left = new Set(ledger.jobs.filter(job => blockHasTags(ledger, job.block)).map(job => job.block));
      expect([store.count('tagged'), index.count('tagged_blocks')]).toEqual([left.size, left.size]);
      if (left.size === 0) expect(index.count('tags')).toBe(0);
      close();
    }),
    { numRuns: Math.min(80, numRuns) },
  );
});

const nothing: Selection = {
  ...{ plugin: null, command: null, status: null, submittedBy: null, pipeline: null, jobId: null, run: null },
  ...{ root: null, parent: null, error: null, query: null, fromUs: null, toUs: null, children: true },
};

function blockHasTags({ jobs }: Ledger, block: number): boolean {
  return jobs.some(job => job.block === block && job.tags !== undefined);
}

function idsIn(bytes: Uint8Array): string[] {
  return Array.from({ length: bytes.length / 16 }, (_, k) => formatId(bytes.subarray(k * 16, k * 16 + 16)));
}

const ranges = fc
  .uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 12 })
  .map(numbers => numbers.toSorted((a, b) => a - b))
  .map(numbers => numbers.slice(0, numbers.length - (numbers.length % 2)));

test('what is in both of two lists of ranges', () => {
  const members = (pairs: readonly number[]) =>
    new Set(
      Array.from({ length: 31 }, (_, n) => n).filter(n =>
        pairs.some((from, k) => k % 2 === 0 && n >= from && n < pairs[k + 1]!),
      ),
    );
  fc.assert(
    fc.property(ranges, ranges, (a, b) => {
      const both = inBoth(a, b);
      expect([...members(both)]).toEqual([...members(a)].filter(n => members(b).has(n)));
      expect(both).toEqual(both.toSorted((x, y) => x - y));
    }),
  );
});
