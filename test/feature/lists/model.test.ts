// The lists against a naive model: whatever was accepted, ended or pruned, pages and totals are those of filtered arrays.

import { expect, test } from 'vitest';
import type { JobPage } from '../../../actors/job/views/job-page.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { formatId } from '../../../runtime/ids.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { openLists } from '../../../service/reads/lists.ts';
import type { LogPage } from '../../../service/reads/reads.ts';
import { fc } from '../../support/seed.ts';
import { inSlices } from '../../support/slices.ts';
import { Ledger } from '../search/ledger.ts';
import { storages } from '../search/storage.ts';
import { commands, type History, history, plugins, submitters } from '../search/stories.ts';

/** Half of the filters set no condition. */
const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null, freq: 1 });
const maybe = <T>(values: readonly T[]) => optional(fc.constantFrom(...values));
const statuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'dead', 'cancelled'] as const;
const jobFilter = fc.record({
  plugin: maybe([...plugins, 'nobody']),
  command: maybe(commands),
  status: maybe(statuses),
});
const logFilter = fc.record({
  plugin: maybe([...plugins, 'nobody']),
  command: maybe(commands),
  status: maybe(statuses),
  submittedBy: maybe([...submitters, 'nobody']),
  from: optional(fc.integer({ min: 0, max: 30 })),
  to: optional(fc.integer({ min: 0, max: 30 })),
  job: optional(fc.integer({ min: 0, max: 20 })),
});
const limit = fc.integer({ min: 1, max: 7 });

function told(steps: History, store: Store): Ledger {
  const ledger = new Ledger(store);
  for (const step of steps) {
    if ('prune' in step) ledger.prune(step.prune);
    else ledger.add(step);
  }
  return ledger;
}

test.each(storages)(
  'jobs are listed newest first, each once, with the total of all that match (%s)',
  async (_, numRuns, open) => {
    await fc.assert(
      fc.asyncProperty(history, fc.array(fc.tuple(jobFilter, limit), { maxLength: 6 }), async (steps, asked) => {
        const storage = open();
        const ledger = told(steps, storage.store);
        const lists = openLists(storage.store, () => storage.index);
        const newest = ledger.jobs.toSorted((a, b) => (a.id < b.id ? 1 : -1));
        for (const [filter, rowsMax] of asked) {
          const wanted = newest.filter(
            job =>
              (filter.plugin ?? job.plugin) === job.plugin &&
              (filter.command ?? job.command) === job.command &&
              (filter.status ?? job.status) === job.status,
          );
          const seen: unknown[] = [];
          for (let before: JobId | null = null; ; ) {
            const page: JobPage = await inSlices(lists.jobs({ ...filter, within: [] }, rowsMax, before), () => {});
            expect(page.total).toBe(wanted.length);
            expect(page.rows.length).toBeLessThanOrEqual(rowsMax);
            for (const { id, plugin, command, status, attempt } of page.rows)
              seen.push({ id: formatId(id), plugin, command, status, attempt });
            if (!page.more) break;
            before = page.rows.at(-1)!.id;
          }
          expect(seen).toEqual(wanted.map(({ block, ...job }) => job));
        }
        storage.close();
      }),
      { numRuns },
    );
  },
);

test.each(storages)(
  'logs are listed by time of completion, each once, with the total of all that match (%s)',
  async (_, numRuns, open) => {
    await fc.assert(
      fc.asyncProperty(history, fc.array(fc.tuple(logFilter, limit), { maxLength: 6 }), async (steps, asked) => {
        const storage = open();
        const ledger = told(steps, storage.store);
        const lists = openLists(storage.store, () => storage.index);
        const newest = ledger.logs.toReversed();
        for (const [{ from, to, job, ...filter }, rowsMax] of asked) {
          const timeOf = (place: number | null) => (place === null ? null : (newest[place]?.atUs ?? place));
          const [fromUs, toUs] = [timeOf(from), timeOf(to)];
          const jobId = job === null ? null : (newest[job]?.jobId ?? 'nothing');
          const wanted = newest.filter(
            log =>
              (filter.plugin ?? log.plugin) === log.plugin &&
              (filter.command ?? log.command) === log.command &&
              (filter.status ?? log.status) === log.status &&
              (filter.submittedBy ?? log.submittedBy) === log.submittedBy &&
              log.atUs >= (fromUs ?? 0) &&
              log.atUs <= (toUs ?? Number.POSITIVE_INFINITY) &&
              (jobId ?? log.jobId) === log.jobId &&
              (filter.status !== null || jobId !== null || !log.neverStarted),
          );
          const seen: string[] = [];
          for (let before: { atUs: number; place: number } | null = null; ; ) {
            const asking = { ...filter, fromUs, toUs, jobId, query: null, limit: rowsMax, before };
            const page: LogPage = await inSlices(lists.logs(asking), () => {});
            const logs = [...page.logs];
            expect(page.total).toBe(wanted.length);
            expect(logs.length).toBeLessThanOrEqual(rowsMax);
            seen.push(...logs.map(log => `${log.jobId}-${log.attempt}`));
            if (!page.next) break;
            before = page.next;
          }
          expect(seen).toEqual(wanted.map(log => log.logId));
        }
        storage.close();
      }),
      { numRuns },
    );
  },
);
