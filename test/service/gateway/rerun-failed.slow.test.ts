// POST /job/{job_id}/rerun with `from: failed`: jobs that succeeded are reused; the others run again, and so do the steps after them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { headgate } from '../../feature/cli/headgate.ts';
import { blocksOf } from '../../feature/kit/page.ts';
import { cyclesOf } from '../../support/deep.ts';
import { everythingToken } from './configuration.ts';
import { type Answer, type Job, shareGateway } from './gateway.ts';
import { echo, journal, step } from './sources.ts';
import { until } from './until.ts';

/** Fails while its payload's `n` is in the file `sick`; its result has as many `bytes` as the payload says. */
const mends = `${journal}
import { readFileSync } from 'node:fs';
export async function handle(request) {
  const { payload } = request.event;
  note(request, 'start', { name: payload.of });
  const { n, bytes } = payload.item ?? payload;
  const isSick = existsSync(home + '/sick') && readFileSync(home + '/sick', 'utf8').split(' ').includes(String(n));
  return isSick ? { status: 'error', error: 'sick', retry: false } : { result: bytes ? { n, text: 'x'.repeat(bytes) } : { n } };
}
`;
/** Waits for the gate that its payload names, emits the events of its payload, and fails while its `n` is in the file `sick`. */
const teller = `${journal}
import { readFileSync } from 'node:fs';
export async function handle(request, { emit }) {
  const { n, gate: name, emit: events = [] } = request.event.payload.item;
  if (name) await gate(name);
  for (const event of events) emit(event);
  const isSick = readFileSync(home + '/sick', 'utf8').split(' ').includes(String(n));
  return isSick ? { status: 'error', error: 'sick', retry: false } : { result: { n } };
}
`;
/** The example of docs/engine.md. */
const page = blocksOf(new URL('../../../docs/engine.md', import.meta.url)).filter(({ name }) => name === 'newsletter');
const blockOf = (wanted: string) => page.find(({ language }) => language === wanted)!.text;

const settings = {
  api: { max_body_size: '4MB' },
  plugins: { echo, step, teller, mends, charge: echo, mailer: mends, report: echo },
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
      name: 'charging',
      steps: [
        { id: 'tell', uses: 'teller', foreach: 'payload.of' },
        { id: 'charge', uses: 'charge' },
      ],
    },
    parse(blockOf('yaml')) as { name: string },
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

/** From now on, a job fails if its payload has one of these numbers as `n`; no other job fails. */
function fallIll(sick: readonly number[]): void {
  writeFileSync(join(gateway.directory, 'sick'), sick.join(' '));
}

async function again(id: string, more: object = {}): Promise<Job> {
  const { status, body }: Answer = await gateway.call('POST', `/job/${id}/rerun`, { from: 'failed', ...more });
  expect([status, body['rerun_of']]).toEqual([202, id]);
  return gateway.settled(String(body['job_id']));
}

test('of a run with many children, those that failed run again, and the join', async () => {
  const count = cyclesOf({ deep: 100_000, quick: 2000 });
  const of = Array.from({ length: count }, (_, n) => ({ n }));
  const sick = Array.from({ length: 37 }, (_, k) => k * 53);
  fallIll(sick);
  const old = await gateway.ran('wide', { of });
  expect(old).toMatchObject({ status: 'succeeded', counts: { succeeded: count - 36, failed: 37 } });
  fallIll([]);
  const run = await again(old.job_id, { reason: 'mended' });
  expect(run).toMatchObject({ status: 'succeeded', counts: { succeeded: 38, failed: 0, reused: count - 37 } });
  expect(run).toMatchObject({ rerun_of: old.job_id, rerun_from: 'failed', rerun_reason: 'mended' });
  const tree = (await gateway.tree(run.job_id)) as (Job & { readonly reused?: true })[];
  const fresh = tree.filter(job => job.reused !== true);
  expect([tree.length, fresh.length]).toEqual([count + 2, 39]);
  const { results } = run.result!.result as { results: { n: number }[] };
  expect(results.map(({ n }) => n)).toEqual(of.map(({ n }) => n));
});

type TreeJob = Job & { readonly reused?: true };

async function treeOf(run: Job): Promise<readonly TreeJob[]> {
  return (await gateway.tree(run.job_id)) as TreeJob[];
}

/** The jobs of the tree that were not reused, as `plugin.command`, sorted. */
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
  // The rerun of the rerun reuses jobs of both earlier runs.
  expect(await again(run.job_id)).toMatchObject({ counts: { succeeded: 0, reused: 6 } });
});

const emitting = (key: string) => [{ type: 'told', payload: { key }, dedupe_key: key }];

/** A run that has failed before one of its jobs emits an event with this key. If `isCharged` is true, an earlier event of the run had the key. */
async function toldLate(key: string, isCharged = false): Promise<Job> {
  fallIll([1]);
  const emit = emitting(key);
  const late = [
    { n: 1, gate: `${key}-fails` },
    { n: 2, gate: `${key}-tells`, emit },
  ];
  const id = await gateway.run('charging', { of: isCharged ? [{ n: 0, emit }, ...late] : late });
  const has = async (plugin: string, status: string) =>
    (await gateway.tree(id)).some(job => job.plugin === plugin && job.status === status);
  if (isCharged) await until('the charge', () => has('charge', 'succeeded'));
  gateway.open(`${key}-fails`);
  await until('the failure', () => has('teller', 'failed'));
  gateway.open(`${key}-tells`);
  const run = await gateway.settled(id);
  expect(run).toMatchObject({ status: 'failed', counts: { succeeded: isCharged ? 3 : 1, failed: 1 } });
  fallIll([]);
  return run;
}

/** The new jobs of a rerun that charges nothing for the late event: the teller that had failed, and the charge for its result. */
const mended = ['charge.handle', 'teller.handle'];

test('an event from after the failure is dropped if an earlier event of the old run had its dedupe key', async () => {
  const old = await toldLate('both', true);
  const run = await again(old.job_id);
  expect([run.status, await freshOf(run)]).toEqual(['succeeded', mended]);
  expect(await freshOf(await again(run.job_id))).toEqual([]);
});

test('an event from after the failure uses its dedupe key in the rerun, unless another run has used it', async () => {
  const old = await toldLate('once');
  const run = await again(old.job_id);
  expect(await freshOf(run)).toEqual(['charge.handle', ...mended]);
  const late = await toldLate('other');
  const of = ['once', 'other'].map(key => ({ n: 0, emit: emitting(key) }));
  const other = await gateway.ran('charging', { of });
  expect(await freshOf(other)).toEqual(['charge.handle', 'teller.handle', 'teller.handle']);
  expect(await freshOf(await again(late.job_id))).toEqual(mended);
  // The event that has used the key goes on again.
  expect(await freshOf(await again(run.job_id))).toEqual([]);
  expect(await freshOf(await again(old.job_id))).toEqual(['charge.handle', ...mended]);
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
  const inner = (await treeOf(run)).find(job => job.command === 'inner' && !job.reused)!;
  for (const top of [run, inner]) {
    const tree = await treeOf(top);
    const shown = new Set<string | null>();
    for (const job of tree) {
      if (job.job_id !== top.job_id) expect([job, shown.has(job.parent_job_id)]).toEqual([job, true]);
      shown.add(job.job_id);
    }
    expect(shown.size).toBe(tree.length);
  }
});

test('the tree of a called run, and the lists of the jobs of a tree, have the reused jobs as well', async () => {
  fallIll([7, 1]);
  const old = await gateway.ran('outer', { lists: [[3, 4, 7].map(n => ({ n })), [{ n: 5 }]] });
  fallIll([]);
  const run = await again(old.job_id);
  const whole = await treeOf(run);
  const inner = whole.find(job => job.command === 'inner' && !job.reused)!;
  const inside = await treeOf(inner);
  expect(inside.map(job => [job.plugin, job.reused ?? false]).sort()).toEqual([
    ['mends', false],
    ['mends', false],
    ['mends', true],
    ['mends', true],
    ['pipeline', false],
  ]);
  const listed = async (query: string) => {
    const rows: TreeJob[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await gateway.call('GET', `/jobs?${query}&limit=2${cursor}`);
      const page = body as unknown as { jobs: TreeJob[]; total: number; next_cursor?: string };
      rows.push(...page.jobs);
      if (page.next_cursor === undefined) return { total: page.total, rows };
      cursor = `&cursor=${page.next_cursor}`;
    }
  };
  const idsOf = (jobs: readonly TreeJob[]) => jobs.map(({ job_id: id, reused = false }) => `${id} ${reused}`).sort();
  const below = (jobs: readonly TreeJob[], top: Job) => jobs.filter(({ job_id: id }) => id !== top.job_id);
  const childrenOf = (top: Job) => whole.filter(job => job.parent_job_id === top.job_id);
  for (const [query, jobs] of [
    [`root=${run.job_id}`, whole],
    [`run=${run.job_id}`, below(whole, run)],
    [`run=${inner.job_id}`, below(inside, inner)],
    [`parent=${inner.job_id}`, childrenOf(inner)],
    [`run=${run.job_id}&status=succeeded&plugin=mends`, whole.filter(({ plugin }) => plugin === 'mends')],
  ] as const) {
    const { rows, total } = await listed(query);
    expect([query, total, idsOf(rows)]).toEqual([query, jobs.length, idsOf(jobs)]);
    const ids = rows.map(({ job_id: id }) => id);
    expect(ids).toEqual([...ids].sort().reverse());
  }
});

test('what failed inside a called run runs again though the called run succeeded', async () => {
  fallIll([7]);
  const old = await gateway.ran('outer', { lists: [[{ n: 3 }, { n: 7 }], [{ n: 4 }]] });
  expect(old).toMatchObject({ status: 'succeeded', counts: { failed: 1 } });
  fallIll([]);
  const run = await again(old.job_id);
  expect(await freshOf(run)).toEqual(['echo.handle', 'mends.handle', 'mends.handle', 'pipeline.inner']);
  expect(run).toMatchObject({ counts: { failed: 0, reused: 2 } });
});

test('large results are reused, one by one and in the parts of a join', async () => {
  fallIll([2]);
  const bytes = 2_200_000;
  const old = await gateway.ran('wide', {
    of: [{ n: 0, bytes }, { n: 1, bytes }, { n: 2 }, { n: 3, bytes: 20_000 }],
  });
  fallIll([]);
  const mended = await again(old.job_id);
  expect(mended).toMatchObject({ status: 'succeeded', counts: { succeeded: 2, reused: 3 } });
  const idle = await again(mended.job_id);
  expect(idle).toMatchObject({ status: 'succeeded', counts: { succeeded: 0, reused: 5 } });
  for (const run of [mended, idle]) {
    const { results } = run.result!.result as { results: { n: number; text?: string }[] };
    expect(results.map(({ text = '' }) => text.length)).toEqual([bytes, bytes, 0, 20_000]);
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

test('the example of the page: who got no mail gets one, and the others do not', async () => {
  fallIll([3]);
  const old = await gateway.ran('newsletter', { people: [1, 2, 3, 4].map(n => ({ n })) });
  expect(old).toMatchObject({ counts: { succeeded: 4, failed: 1 } });
  fallIll([]);
  const words = blockOf('sh')
    .trim()
    .split(/ (?=(?:[^"]*"[^"]*")*[^"]*$)/);
  const given = words.map(word => word.replaceAll('"', '').replace('$RUN', old.job_id)).slice(1);
  const { status, json } = await headgate([...given, '--url', gateway.url, '--json'], {
    env: { HEADGATE_TOKEN: everythingToken },
  });
  expect([status, json.counts]).toEqual([0, JSON.parse(blockOf('json'))]);
  expect(json).toMatchObject({ rerun_of: old.job_id, rerun_reason: 'provider is back' });
});
