// GET /jobs by time of acceptance and by pipeline: against a naive model, over HTTP, and in `where` of actions.
import { beforeAll, expect, test } from 'vitest';
import type { Selection } from '../../../actors/job/records/action.ts';
import type { JobFilter, JobPage } from '../../../actors/job/views/job-page.ts';
import { jobListRoutes } from '../../../http/routes/job-lists.ts';
import { whereSchema } from '../../../http/selection.ts';
import { blockKeyMs, blockOf, formatId, type JobId, parseId } from '../../../runtime/ids.ts';
import { openLists } from '../../../service/reads/lists.ts';
import { openSelecting } from '../../../service/reads/selecting.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo, failing, step } from '../../service/gateway/sources.ts';
import { fc } from '../../support/seed.ts';
import { inSlices } from '../../support/slices.ts';
import { Ledger, type NaiveJob } from '../search/ledger.ts';
import { storages } from '../search/storage.ts';
import { commands, history, plugins } from '../search/stories.ts';

const maybe = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: null });
const asked = fc.record({
  plugin: maybe([...plugins, 'nobody']),
  command: maybe(commands),
  status: maybe(['queued', 'running', 'succeeded', 'failed', 'timed_out', 'dead', 'cancelled'] as const),
  pipeline: maybe(commands),
  from: fc.option(fc.integer({ min: 0, max: 20 }), { nil: null }),
  to: fc.option(fc.integer({ min: 0, max: 20 }), { nil: null }),
  off: fc.constantFrom(-1, 0, 1),
  limit: fc.integer({ min: 1, max: 6 }),
});

/** When a job was accepted: the blocks of these ledgers are accepted at whole milliseconds. */
const acceptedUs = ({ id }: NaiveJob) => 1000 * blockKeyMs(blockOf(parseId(id)!));

test.each(storages)(
  'jobs of a stretch of time and of a pipeline are listed newest first, each once (%s)',
  async (_, numRuns, open) => {
    await fc.assert(
      fc.asyncProperty(history, fc.array(asked, { maxLength: 5 }), async (steps, questions) => {
        const { store, index, close } = open();
        const ledger = new Ledger(store);
        for (const step of steps) {
          if ('prune' in step) ledger.prune(step.prune);
          else ledger.add(step);
        }
        const newest = ledger.jobs.toSorted((a, b) => (a.id < b.id ? 1 : -1));
        const times = [...new Set(newest.map(acceptedUs))];
        const lists = openLists(store, () => index);
        const selecting = openSelecting(store, () => index);
        for (const { pipeline, from, to, off, limit, ...named } of questions) {
          const timeOf = (place: number | null) => (place === null ? null : (times[place] ?? 0) + off);
          const accepted = { fromUs: timeOf(from) ?? 0, toUs: timeOf(to) ?? Number.MAX_SAFE_INTEGER };
          const isNarrow = from !== null || to !== null;
          const filter: JobFilter = {
            ...named,
            within: [],
            ...(isNarrow && { accepted }),
            ...(pipeline !== null && { pipeline }),
          };
          const wanted = newest
            .filter(
              job =>
                (named.plugin ?? job.plugin) === job.plugin &&
                (named.command ?? job.command) === job.command &&
                (named.status ?? job.status) === job.status &&
                (pipeline === null || (job.plugin === 'pipeline' && job.command === pipeline)) &&
                acceptedUs(job) >= accepted.fromUs &&
                acceptedUs(job) <= accepted.toUs,
            )
            .map(({ id }) => id);
          const seen: string[] = [];
          for (let before: JobId | null = null; ; ) {
            const page: JobPage = await inSlices(lists.jobs(filter, limit, before), () => {});
            expect([page.total, page.atLeast]).toEqual([wanted.length, false]);
            expect(page.rows.length).toBeLessThanOrEqual(limit);
            seen.push(...page.rows.map(({ id }) => formatId(id)));
            if (!page.more) break;
            before = page.rows.at(-1)!.id;
          }
          expect(seen).toEqual(wanted);
          // An action with this filter takes the same jobs.
          const moment = { atUs: 1e16, block: Buffer.alloc(12, 0xff), commitUs: 1e16 };
          const selection: Selection = { ...everyJob, ...named, pipeline, ...(isNarrow && { accepted }) };
          const next = { kind: 'next_matches', selection, moment, searchedUs: null, after: null } as const;
          const { ids } = await inSlices(selecting.next(next), () => {});
          expect(idsIn(ids)).toEqual(wanted.toReversed());
        }
        close();
      }),
      { numRuns: Math.min(120, numRuns) },
    );
  },
);

const everyJob: Selection = {
  ...{ plugin: null, command: null, status: null, submittedBy: null, pipeline: null, jobId: null, run: null },
  ...{ root: null, parent: null, error: null, query: null, fromUs: null, toUs: null, children: true },
};

function idsIn(bytes: Uint8Array): string[] {
  return Array.from({ length: bytes.length / 16 }, (_, k) => formatId(bytes.subarray(k * 16, k * 16 + 16)));
}

const gateway = shareGateway({
  plugins: { echo, failing, step },
  pipelines: [
    { name: 'small', steps: [{ id: 'each', uses: 'step', foreach: 'payload.list', on_error: 'continue' }] },
    { name: 'calling', steps: [{ id: 'inner', call: 'small' }] },
  ],
});

const made: { readonly id: string; readonly at: string }[] = [];

beforeAll(async () => {
  for (let n = 0; n < 4; n++) {
    const command = n === 2 ? 'failing/handle' : 'echo/handle';
    const { body } = await gateway.call('POST', `/plugin/${command}`, {
      payload: { retry: false },
      tags: { part: String(n % 2) },
    });
    const job = await gateway.settled(String(body['job_id']));
    made.push({ id: job.job_id, at: job.created_at });
  }
});

async function list(query: string): Promise<{ readonly ids: string[]; readonly total: number }> {
  const { status, body } = await gateway.call('GET', `/jobs?${query}`);
  expect([status, body['detail']]).toEqual([200, undefined]);
  const { jobs, total } = body as unknown as { readonly jobs: readonly { job_id: string }[]; readonly total: number };
  return { ids: jobs.map(({ job_id }) => job_id), total };
}

test('every filter of GET /jobs is a filter of actions', () => {
  const { query } = jobListRoutes.find(({ path }) => path === '/jobs')!;
  const renamed = new Map([
    ['from', 'created_from'],
    ['to', 'created_to'],
  ]);
  const filters = Object.keys(query).filter(name => name !== 'limit' && name !== 'cursor');
  const known = Object.keys(whereSchema['properties'] as object);
  expect(known).toEqual(expect.arrayContaining(filters.map(name => renamed.get(name) ?? name)));
});

test('from and to select jobs by created_at, both inclusive, beside every other filter', async () => {
  const [first, second, third, fourth] = made as [
    (typeof made)[0],
    (typeof made)[0],
    (typeof made)[0],
    (typeof made)[0],
  ];
  const between = `from=${second.at}&to=${third.at}`;
  expect(await list(between)).toEqual({ ids: [third.id, second.id], total: 2 });
  expect(await list(`to=${second.at}`)).toEqual({ ids: [second.id, first.id], total: 2 });
  expect((await list(`from=${third.at}`)).ids.slice(-2)).toEqual([fourth.id, third.id]);
  expect(await list(`${between}&plugin=echo`)).toEqual({ ids: [second.id], total: 1 });
  expect(await list(`${between}&status=failed`)).toEqual({ ids: [third.id], total: 1 });
  expect(await list(`${between}&status=succeeded`)).toEqual({ ids: [second.id], total: 1 });
  expect(await list(`${between}&status=queued`)).toEqual({ ids: [], total: 0 });
  expect(await list(`${between}&tag=part:1`)).toEqual({ ids: [second.id], total: 1 });
  expect(await list(`${between}&error=asked`)).toEqual({ ids: [third.id], total: 1 });
  expect(await list(`${between}&root=${second.id}`)).toEqual({ ids: [second.id], total: 1 });
  expect(await list(`${between}&root=${first.id}`)).toEqual({ ids: [], total: 0 });
  expect(await list(`from=${third.at}&to=${second.at}`)).toEqual({ ids: [], total: 0 });
  const where = { created_from: second.at, created_to: third.at };
  const { body } = await gateway.call('POST', '/actions', { do: 'rerun', where, dry_run: true });
  expect(body).toMatchObject({ matched: 2, sample: [second.id, third.id] });
});

test('pipeline selects its runs and the jobs of its steps, page by page', async () => {
  const run = await gateway.ran('small', { list: [{}, { fail: 'no' }, {}] });
  const calling = await gateway.ran('calling', { list: [{}] });
  const inside = (await list(`run=${run.job_id}`)).ids;
  const called = (await list(`run=${calling.job_id}`)).ids;
  // The run, its three jobs, and the called run with its job.
  const all = [...called, ...inside, run.job_id];
  expect(await list('pipeline=small')).toEqual({ ids: all.toSorted().reverse(), total: 6 });
  expect(await list('pipeline=small&status=failed')).toMatchObject({ total: 1 });
  expect((await list('pipeline=small&plugin=pipeline')).total).toBe(2);
  expect((await list('pipeline=small&plugin=step&status=succeeded')).total).toBe(3);
  expect((await list(`pipeline=small&root=${calling.job_id}`)).ids).toEqual(called);
  // The run of the calling pipeline, and the run that its step calls.
  expect((await list('pipeline=calling')).total).toBe(2);
  expect(await list('pipeline=nobody')).toEqual({ ids: [], total: 0 });
  const pages: string[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await gateway.call('GET', `/jobs?pipeline=small&limit=4${cursor}`);
    pages.push(...(body['jobs'] as readonly { job_id: string }[]).map(({ job_id }) => job_id));
    expect(body['total']).toBe(6);
    if (body['next_cursor'] === undefined) break;
    cursor = `&cursor=${body['next_cursor']}`;
  }
  expect(pages).toEqual(all.toSorted().reverse());
});
