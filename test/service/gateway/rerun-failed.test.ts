// POST /job/{job_id}/rerun with `from: failed`: what succeeded is taken over, what did not is run, and what follows that.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Answer, type Job, shareGateway } from './gateway.ts';
import { echo, journal, step } from './sources.ts';

/** Fails while its payload's `n` is in the list `bad` of the file `sick`. */
const mends = `${journal}
import { readFileSync } from 'node:fs';
export async function handle(request) {
  const { payload } = request.event;
  note(request, 'start', { name: payload.of });
  const { n } = payload.item ?? payload;
  const isSick = existsSync(home + '/sick') && readFileSync(home + '/sick', 'utf8').split(' ').includes(String(n));
  return isSick ? { status: 'error', error: 'sick', retry: false } : { result: { n } };
}
`;
const settings = {
  plugins: { echo, step, mends },
  pipelines: [
    {
      name: 'wide',
      steps: [
        { id: 'each', uses: 'mends', foreach: 'payload.of', on_error: 'continue' },
        { id: 'all', uses: 'echo', join: 'all' },
      ],
    },
    {
      name: 'chains',
      steps: [
        { id: 'first', uses: 'step', foreach: 'payload.of' },
        { id: 'second', uses: 'mends', with: { item: '{payload.payload.item}' }, on_error: 'continue' },
        { id: 'all', uses: 'echo', join: 'all' },
        { id: 'behind', uses: 'echo' },
      ],
    },
    {
      name: 'inner',
      steps: [
        { id: 'each', uses: 'mends', foreach: 'payload.of', on_error: 'continue' },
        { id: 'all', uses: 'mends', join: 'all', with: { n: '{payload.failed}' } },
      ],
    },
    {
      name: 'telling',
      steps: [
        { id: 'tell', uses: 'step', foreach: 'payload.of' },
        { id: 'hear', uses: 'mends', on_error: 'continue' },
        { id: 'all', uses: 'echo', join: 'all' },
      ],
    },
    {
      name: 'outer',
      steps: [
        { id: 'call', call: 'inner', foreach: 'payload.lists', with: { of: '{payload.item}' }, on_error: 'continue' },
        { id: 'all', uses: 'echo', join: 'all' },
      ],
    },
  ],
};
const gateway = shareGateway(settings);

/** From now on these fail, and no others. */
function fallIll(sick: readonly number[]): void {
  writeFileSync(join(gateway.directory, 'sick'), sick.join(' '));
}

async function again(id: string, more: object = {}): Promise<Job> {
  const { status, body }: Answer = await gateway.call('POST', `/job/${id}/rerun`, { from: 'failed', ...more });
  expect([status, body['rerun_of']]).toEqual([202, id]);
  return gateway.settled(String(body['job_id']));
}

test('of a run with many children, those that failed run again, and the join', async () => {
  const of = Array.from({ length: 2000 }, (_, n) => ({ n }));
  const sick = Array.from({ length: 37 }, (_, k) => k * 53);
  fallIll(sick);
  const old = await gateway.ran('wide', { of });
  expect(old).toMatchObject({ status: 'succeeded', counts: { succeeded: 1964, failed: 37 } });
  fallIll([]);
  const run = await again(old.job_id, { reason: 'mended' });
  expect(run).toMatchObject({ status: 'succeeded', counts: { succeeded: 38, failed: 0, reused: 1963 } });
  expect(run).toMatchObject({ rerun_of: old.job_id, rerun_from: 'failed', rerun_reason: 'mended' });
  const tree = (await gateway.tree(run.job_id)) as (Job & { readonly reused?: true })[];
  const fresh = tree.filter(job => job.reused !== true);
  expect([tree.length, fresh.length]).toEqual([2002, 39]);
  const { results } = run.result!.result as { results: { n: number }[] };
  expect(results.map(({ n }) => n)).toEqual(of.map(({ n }) => n));
});

type TreeJob = Job & { readonly reused?: true };

async function treeOf(run: Job): Promise<readonly TreeJob[]> {
  return (await gateway.tree(run.job_id)) as TreeJob[];
}

/** What of the tree ran anew: `plugin.command`, sorted. */
async function freshOf(run: Job): Promise<string[]> {
  const jobs = await treeOf(run);
  return jobs
    .filter(job => job.reused !== true && job.job_id !== run.job_id)
    .map(job => `${job.plugin}.${job.command}`)
    .sort();
}

test('earlier jobs of a chain are taken over though a later one failed; what is behind the join runs', async () => {
  fallIll([1]);
  const old = await gateway.ran('chains', { of: [0, 1, 2].map(n => ({ n })) });
  fallIll([]);
  const run = await again(old.job_id);
  expect(await freshOf(run)).toEqual(['echo.handle', 'echo.handle', 'mends.handle']);
  expect(run).toMatchObject({ status: 'succeeded', counts: { succeeded: 3, reused: 5 } });
});

test('of a run without failures nothing runs, and the result is the same; also of the rerun of a rerun', async () => {
  const old = await gateway.ran('chains', { of: [0, 1, 2].map(n => ({ n })) });
  for (let run = old, times = 0; times < 2; times++) {
    run = await again(run.job_id);
    expect(await freshOf(run)).toEqual([]);
    expect(run.result!.result).toEqual(old.result!.result);
    expect(run).toMatchObject({ counts: { succeeded: 0, reused: 8 } });
  }
});

test.each([
  ['few', 3],
  ['a flood of', 300],
])('%s events that the old run had dropped by their dedupe key stay dropped; the others go on', async (_, count) => {
  fallIll([1]);
  // Two jobs emit the same events, each of which has one of three keys.
  const emit = Array.from({ length: count }, (__, k) => {
    const n = k % 3;
    return { type: 'told', payload: { n }, dedupe_key: `${count}-${n}` };
  });
  const old = await gateway.ran('telling', { of: [{ emit }, { emit }] });
  expect(old).toMatchObject({ status: 'succeeded', counts: { succeeded: 5, failed: 1 } });
  fallIll([]);
  const run = await again(old.job_id);
  expect(await freshOf(run)).toEqual(['echo.handle', 'mends.handle']);
  expect(run).toMatchObject({ counts: { succeeded: 2, reused: 4 } });
  const { results } = run.result!.result as { results: { n: number }[] };
  expect(results.map(({ n }) => n).sort()).toEqual([0, 1, 2]);
  // What the rerun of the rerun takes over lies in both.
  expect(await again(run.job_id)).toMatchObject({ counts: { succeeded: 0, reused: 6 } });
});

test('called runs that succeeded are taken over whole; into others it goes, and parents come before children', async () => {
  fallIll([7, 1]);
  const lists = [
    [0, 2],
    [3, 7],
    [4, 5],
  ].map(list => list.map(n => ({ n })));
  const old = await gateway.ran('outer', { lists });
  fallIll([]);
  const run = await again(old.job_id);
  expect(run).toMatchObject({ status: 'succeeded' });
  expect(await freshOf(run)).toEqual(['echo.handle', 'mends.handle', 'mends.handle', 'pipeline.inner']);
  const tree = await treeOf(run);
  const shown = new Set<string | null>();
  for (const job of tree) {
    if (job.job_id !== run.job_id) expect([job, shown.has(job.parent_job_id)]).toEqual([job, true]);
    shown.add(job.job_id);
  }
});

test('it goes by the definition that it had, though another is configured, or none', async () => {
  fallIll([1]);
  const old = await gateway.ran('wide', { of: [0, 1].map(n => ({ n })) });
  fallIll([]);
  const others = settings.pipelines.filter(({ name }) => name !== 'wide');
  await gateway.reload({ ...settings, pipelines: [...others, { name: 'wide', steps: [{ id: 'x', uses: 'step' }] }] });
  expect(await freshOf(await again(old.job_id))).toEqual(['echo.handle', 'mends.handle']);
  await gateway.reload({ ...settings, pipelines: others });
  await gateway.restart();
  expect(await freshOf(await again(old.job_id))).toEqual(['echo.handle', 'mends.handle']);
  await gateway.reload(settings);
});

test('kill -9 while it takes over changes nothing', async () => {
  const of = Array.from({ length: 2000 }, (_, n) => ({ n }));
  fallIll([3, 1999]);
  const old = await gateway.ran('wide', { of });
  fallIll([]);
  const { body } = await gateway.call('POST', `/job/${old.job_id}/rerun`, { from: 'failed' });
  await gateway.restart();
  const run = await gateway.settled(String(body['job_id']));
  expect(run).toMatchObject({ status: 'succeeded', counts: { succeeded: 3, failed: 0, reused: 1998 } });
  const { body: check } = await gateway.call('GET', '/system/selfcheck');
  expect(check).toMatchObject({ status: 'ok', failures: [] });
});
