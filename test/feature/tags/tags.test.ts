// Tags of jobs through the real gateway (docs/contract.md#tags): given by a call, inherited by its tree, found by the index.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openReaderBeside } from '../../../runtime/store/ledger-store.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { type Gateway, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { echo, failing, step, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { headgate } from '../cli/headgate.ts';
import { openSource } from '../events/reader.ts';

type Tags = { readonly [key: string]: string };
type Row = { readonly job_id: string; readonly plugin: string; readonly command: string; readonly tags?: Tags };
type Page = {
  readonly jobs: readonly Row[];
  readonly total: number;
  readonly total_at_least?: true;
  readonly index_behind?: number;
  readonly next_cursor?: string;
};

const telling = "export const handle = (_, { emit }) => emit({ type: 'told', payload: {} });";
const settings = {
  plugins: { echo, failing, step, worker, telling },
  instances: {
    hopeless: { uses: 'failing', retry: { max_attempts: 1 } },
    single: { uses: 'worker', parallelism: 1 },
  },
  pipelines: [
    { name: 'inner', steps: [{ id: 'each', uses: 'echo', foreach: 'payload.list' }] },
    {
      name: 'outer',
      steps: [
        { id: 'call', call: 'inner' },
        { id: 'tell', uses: 'telling' },
      ],
    },
    { name: 'hearing', on: 'told', steps: [{ id: 'hear', uses: 'echo' }] },
    {
      name: 'hooked',
      on_hook: 'pipeline.completed',
      if: { path: 'payload.pipeline', op: 'eq', value: 'outer' },
      steps: [{ id: 'note', uses: 'echo' }],
    },
  ],
};
const shared = shareGateway(settings);

async function call(path: string, tags: Tags, payload: object = {}, gateway: Gateway = shared): Promise<string> {
  const { status, body } = await gateway.call('POST', path, { payload, tags });
  expect([status, body['detail']]).toEqual([202, undefined]);
  return String(body['job_id']);
}

async function list(query: string, gateway: Gateway = shared): Promise<Page> {
  const { status, body } = await gateway.call('GET', `/jobs?${query}`);
  expect([status, body['detail']]).toEqual([200, undefined]);
  return body as unknown as Page;
}

const idsIn = ({ jobs }: Page) => jobs.map(({ job_id }) => job_id);

test('a call gives its job tags, which the job, the list and its events show', async () => {
  const { seen } = await openSource(shared, '?types=job.completed');
  const tags = { tenant: 'acme: "a\n"', kind: '', a_1: 'ü'.repeat(128) };
  const id = await call('/plugin/echo/handle', tags);
  const ordered = Object.fromEntries(Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1)));
  const job = (await shared.settled(id)) as Row & { readonly result: unknown };
  expect(JSON.stringify(job.tags)).toBe(JSON.stringify(ordered));
  const page = await list(`tag=${encodeURIComponent('tenant:acme: "a\n"')}&tag=kind:`);
  expect(page).toMatchObject({ jobs: [{ job_id: id, tags }], total: 1, index_behind: 0 });
  await until('its event', () => seen.some(({ data }) => data['job_id'] === id));
  expect(seen.find(({ data }) => data['job_id'] === id)!.data).toMatchObject({ tags });
  const plain = await shared.finished('echo/handle');
  expect([plain, (await list('plugin=echo&limit=1')).jobs[0]]).not.toContainEqual(
    expect.objectContaining({ tags: expect.anything() }),
  );
});

test('the whole tree has the tags: children, called runs, and runs of events and hooks', async () => {
  const tags = { tenant: 'tree', kind: 'whole' };
  const root = await call('/pipeline/outer', tags, { list: [1, 2, 3] });
  await shared.settled(root);
  const rows = await until('the whole tree has ended', async () => {
    const { jobs } = await list(`root=${root}&limit=200`);
    // The run `outer`, its called run `inner` with three jobs, and its job `tell`; the runs `hearing` and `hooked` with a job each.
    return jobs.length === 10 && jobs.every(job => 'completed_at' in job) ? jobs : null;
  });
  expect(rows.map(({ command }) => command)).toEqual(expect.arrayContaining(['inner', 'hearing', 'hooked']));
  for (const row of rows) expect(row.tags).toEqual(tags);
  expect(idsIn(await list('tag=tenant:tree'))).toEqual(rows.map(({ job_id }) => job_id));
  // Within a tree, the filter needs no index.
  expect(await list(`root=${root}&tag=tenant:tree`)).toMatchObject({ total: 10, index_behind: 0 });
  expect(await list(`root=${root}&tag=tenant:other`)).toMatchObject({ jobs: [], total: 0, index_behind: 0 });
});

test('a rerun takes the tags of the old job, or has others, or none', async () => {
  const old = await call('/plugin/hopeless/handle', { tenant: 'again', kind: 'old' });
  await shared.settled(old);
  const rerun = async (id: string, body: object) => {
    const { status, body: answer } = await shared.call('POST', `/job/${id}/rerun`, body);
    expect(status).toBe(202);
    return (await shared.settled(String(answer['job_id']))) as unknown as Row;
  };
  expect((await rerun(old, {})).tags).toEqual({ tenant: 'again', kind: 'old' });
  expect((await rerun(old, { tags: { kind: 'new' } })).tags).toEqual({ kind: 'new' });
  expect(await rerun(old, { tags: {} })).not.toHaveProperty('tags');
  const run = await call('/pipeline/inner', { tenant: 'again-run' }, { list: [1] });
  await shared.settled(run);
  const again = await rerun(run, { from: 'failed' });
  expect(again.tags).toEqual({ tenant: 'again-run' });
  const child = (await list(`run=${run}`)).jobs[0]!;
  expect((await rerun(child.job_id, {})).tags).toEqual({ tenant: 'again-run' });
});

test('several tags are all required, with every other filter beside them, page by page', async () => {
  const made: string[] = [];
  for (let n = 0; n < 6; n++) {
    const path = n % 3 === 0 ? '/plugin/hopeless/handle' : '/plugin/echo/say';
    made.push(await call(path, { tenant: 'many', part: String(n % 2) }, { message: 'sought', retry: false }));
  }
  await shared.allSettled(made);
  const newest = made.toReversed();
  expect(idsIn(await list('tag=tenant:many'))).toEqual(newest);
  expect(idsIn(await list('tag=part:1&tag=tenant:many'))).toEqual([made[5], made[3], made[1]]);
  expect(await list('tag=tenant:many&tag=part:2')).toMatchObject({ jobs: [], total: 0 });
  expect(idsIn(await list('tag=tenant:many&status=failed'))).toEqual([made[3], made[0]]);
  expect(idsIn(await list('tag=tenant:many&plugin=echo&tag=part:1'))).toEqual([made[5], made[1]]);
  // Words of the error come from the index of texts, which follows the ends of jobs.
  await until('the error is indexed', async () => (await list('tag=tenant:many&error=sought')).total === 2);
  expect(idsIn(await list('tag=tenant:many&tag=part:0&error=sought'))).toEqual([made[0]]);
  const pages: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await list(`tag=tenant:many&limit=4${cursor}`);
    expect([page.total, page.index_behind]).toEqual([6, 0]);
    pages.push(...idsIn(page));
    if (page.next_cursor === undefined) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  expect(pages).toEqual(newest);
});

test('a batch has tags beside its payloads, or for NDJSON in the query', async () => {
  const payloads = [{ n: 1 }, { n: 2 }, { list: [1] }];
  for (const path of ['/plugin/echo/handle', '/pipeline/inner']) {
    const tags = { batch: path.slice(1).replaceAll('/', '_') };
    const json = await shared.call('POST', `${path}/batch`, { tags, payloads });
    const lines = payloads.map(payload => JSON.stringify(payload)).join('\n');
    const headers = { 'Content-Type': 'application/x-ndjson' };
    const ndjson = await shared.call('POST', `${path}/batch?tag=batch:${tags.batch}&tag=form:lines`, lines, {
      headers,
    });
    expect([json.status, ndjson.status]).toEqual([202, 202]);
    const [first, second] = [json, ndjson].map(({ body }) => body['job_ids'] as string[]);
    for (const id of first!) expect(await shared.job(id)).toMatchObject({ tags });
    for (const id of second!) expect(await shared.job(id)).toMatchObject({ tags: { ...tags, form: 'lines' } });
    await shared.allSettled([...first!, ...second!]);
    const tops = (await list(`tag=batch:${tags.batch}&limit=200`)).jobs.filter(({ job_id }) =>
      [...first!, ...second!].includes(job_id),
    );
    expect(tops).toHaveLength(6);
    expect(idsIn(await list('tag=form:lines&limit=200'))).toEqual(expect.arrayContaining(second!));
  }
});

const long = 'x'.repeat(129);
const nine = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`k${n}`, '']));

test.each<readonly [tags: unknown, detail: RegExp]>([
  ['tenant:acme', /^\/tags must be object/],
  [nine, /^\/tags must NOT have more than 8 (properties|items)/],
  [{ Tenant: 'acme' }, /^\/tags\/Tenant is not a valid key: it must match pattern "\^\[a-z0-9_\]\{1,32\}\$"/],
  [{ ['k'.repeat(33)]: 'acme' }, /is not a valid key/],
  [{ '': 'acme' }, /is not a valid key/],
  [{ tenant: 1 }, /^\/tags\/tenant must be string/],
  [{ tenant: long }, /^\/tags\/tenant must NOT have more than 128 characters/],
])('tags %j are refused', async (tags, detail) => {
  const refusal = { status: 400, body: { code: 'invalid_request', detail: expect.stringMatching(detail) } };
  for (const path of ['/plugin/echo/handle', '/pipeline/inner'])
    expect(await shared.call('POST', path, { payload: {}, tags })).toMatchObject(refusal);
  expect(await shared.call('POST', '/plugin/echo/handle/batch', { payloads: [{}], tags })).toMatchObject(refusal);
});

const rule = 'must be key:text, such as tenant:acme';

test.each([
  ['GET', '/jobs?tag=tenant', `the query parameter "tag" ${rule}`],
  ['GET', '/jobs?tag=Tenant:acme', `the query parameter "tag" ${rule}`],
  ['GET', `/jobs?tag=tenant:${long}`, `the query parameter "tag" ${rule}`],
  ['GET', `/jobs?${'tag=a:b&'.repeat(9)}`, 'the query parameter "tag" is given more than 8 times'],
  ['GET', '/jobs?plugin=a&plugin=b', 'the query parameter "plugin" is given more than once'],
  ['POST', '/plugin/echo/handle/batch?tag=a:b&tag=a:c', 'the query parameter "tag" gives the tag a more than once'],
] as const)('%s %s is refused', async (method, path, detail) => {
  const sent = method === 'POST' ? (['{}', { headers: { 'Content-Type': 'application/x-ndjson' } }] as const) : [];
  expect(await shared.call(method, path, ...sent)).toMatchObject({
    status: 400,
    body: { code: 'invalid_query', detail: expect.stringContaining(detail) },
  });
});

test('a JSON batch has its tags in the body only', async () => {
  const answer = await shared.call('POST', '/plugin/echo/handle/batch?tag=a:b', { payloads: [{}] });
  expect(answer).toMatchObject({
    status: 400,
    body: { code: 'invalid_query', detail: expect.stringContaining('NDJSON') },
  });
  const unknown = await shared.call('POST', '/plugin/echo/handle/batch', { payloads: [{}], tag: 'a:b' });
  expect(unknown.body['detail']).toBe(
    '/tag is not a known field; known fields: payloads, run_at, delay, expires, deadline, tags',
  );
});

test('a request with other tags is another request to an Idempotency-Key', async () => {
  const headers = { 'Idempotency-Key': 'tagged' };
  const ask = (path: string, body: object) => shared.call('POST', path, body, { headers });
  const first = await ask('/plugin/echo/handle', { tags: { a: 'b' } });
  expect((await ask('/plugin/echo/handle', { tags: { a: 'b' } })).body).toEqual(first.body);
  expect((await ask('/plugin/echo/handle', { tags: { a: 'c' } })).status).toBe(422);
  const headersOfBatch = { headers: { 'Idempotency-Key': 'tagged batch' } };
  const batch = (tags?: Tags) =>
    shared.call('POST', '/plugin/echo/handle/batch', { payloads: [{}], ...(tags && { tags }) }, headersOfBatch);
  const made = await batch({ a: 'b' });
  expect((await batch({ a: 'b' })).body).toEqual(made.body);
  expect([(await batch({ a: 'c' })).status, (await batch()).status]).toEqual([422, 422]);
});

test('an action takes the jobs with the tags, also those that wait', async () => {
  const tags = { tenant: 'action', kind: 'held' };
  await shared.call('POST', '/control/plugin/single/pause', {});
  const ids = await Promise.all(Array.from({ length: 5 }, () => call('/plugin/single/handle', tags)));
  const other = await call('/plugin/single/handle', { tenant: 'action' });
  const act = (body: object) => shared.call('POST', '/actions', body);
  const where = { tag: ['tenant:action', 'kind:held'] };
  const counted = await act({ do: 'cancel', where, dry_run: true });
  expect(counted).toMatchObject({
    status: 200,
    body: { matched: 5, sample: ids.toSorted(), up_to: expect.any(String), index_at: expect.any(String) },
  });
  expect((await act({ do: 'cancel', where: { tag: 'tenant:action' }, dry_run: true })).body['matched']).toBe(6);
  const started = await act({ do: 'cancel', where });
  expect(started).toMatchObject({ status: 202, body: { matched: 5 } });
  await shared.settled(String(started.body['action_id']));
  for (const id of ids) expect(await shared.settled(id)).toMatchObject({ status: 'cancelled' });
  expect(await shared.job(other)).toMatchObject({ status: 'queued' });
  await shared.call('POST', '/control/plugin/single/resume', {});
  await shared.settled(other);
  // The filter of an action matches only roots, unless it has `children`.
  const root = await call('/pipeline/inner', { tenant: 'acted' }, { list: [1, 2] });
  await shared.settled(root);
  const matched = async (more: object) =>
    (await act({ do: 'rerun', where: { tag: 'tenant:acted', ...more }, dry_run: true })).body['matched'];
  expect([await matched({}), await matched({ children: true })]).toEqual([1, 3]);
  for (const [tag, pointer] of [
    ['tenant', '/where/tag'],
    [['tenant:a', 'b'], '/where/tag/1'],
  ])
    expect(await act({ do: 'cancel', where: { tag } })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining(`${pointer} must be key:text`) },
    });
});

test('the command line gives tags, shows them, and selects by them', async () => {
  const env = { HEADGATE_TOKEN: everythingToken };
  const run = (...words: string[]) => headgate([...words, '--url', shared.url], { env });
  const ran = await run('plugin', 'run', 'echo', 'handle', '--tag', 'tenant=cli', '--tag', 'expr=a=b:c', '--json');
  expect(ran).toMatchObject({ status: 0, json: { tags: { tenant: 'cli', expr: 'a=b:c' } } });
  const { stdout } = await run(
    'pipeline',
    'run',
    'inner',
    '--payload',
    '{"list":[]}',
    '--tag',
    'tenant=cli',
    '--async',
  );
  const listed = await run('job', 'list', '--tag', 'tenant=cli', '--json');
  expect(listed.json).toMatchObject({ jobs: [{ job_id: stdout.trim() }, { job_id: ran.json.job_id }], total: 2 });
  expect((await run('job', 'list', '--tag', 'tenant=cli', '--tag', 'expr=a=b:c', '--json')).json.total).toBe(1);
  expect((await run('job', 'show', ran.json.job_id)).stdout).toMatch(/tag +expr=a=b:c\n.*tag +tenant=cli\n/);
  const counted = await run('job', 'cancel', '--tag', 'tenant=cli', '--dry-run');
  expect(counted.stdout).toMatch(/^2 jobs match, as of /);
  expect((await run('job', 'rerun', '--tag', 'tenant=cli', '--tag', 'expr=a=b:c', '--dry-run')).stdout).toMatch(
    /^1 job matches/,
  );
  const wrong = await run('job', 'list', '--tag', 'tenant:cli');
  expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining('a tag looks like tenant=acme') });
  const again = await run('job', 'rerun', ran.json.job_id, '--tag', 'tenant=other', '--wait', '--json');
  expect(again.json).toMatchObject({ rerun_of: ran.json.job_id, tags: { tenant: 'other' } });
  const same = await run('job', 'rerun', ran.json.job_id, '--wait', '--json');
  expect(same.json.tags).toEqual({ tenant: 'cli', expr: 'a=b:c' });
  const both = await run('job', 'cancel', ran.json.job_id, '--tag', 'tenant=cli');
  expect(both).toMatchObject({ status: 2, stderr: expect.stringContaining('leave out --tag, or the ids') });
});

test('tags survive a kill, and the index is rebuilt; without tags their tables are empty', async () => {
  const gateway = await startGateway(settings);
  const data = join(gateway.directory, 'data');
  await gateway.finished('echo/handle');
  await gateway.ran('inner', { list: [1, 2] });
  const tables = () => {
    const reader = openReaderBeside(data);
    const counts = ['tagged'] as const;
    const found = counts.map(table => reader.count(table));
    reader.close();
    return found;
  };
  expect(tables()).toEqual([0]);
  const run = await call('/pipeline/inner', { tenant: 'kept' }, { list: [1, 2] }, gateway);
  const held = await call('/plugin/worker/handle', { tenant: 'kept' }, { gate: 'kept' }, gateway);
  await gateway.kill9();
  rmSync(join(data, 'search'), { recursive: true });
  await gateway.start();
  await gateway.settled(run);
  await until('the whole tree is found', async () => (await list('tag=tenant:kept', gateway)).total === 4);
  // After the start it waits for a worker again.
  await expect.poll(async () => idsIn(await list('tag=tenant:kept&status=running', gateway))).toEqual([held]);
  gateway.open('kept');
  await gateway.settled(held);
  const { body } = await gateway.call('GET', '/system/selfcheck');
  expect(body).toMatchObject({ status: 'ok', failures: [] });
});
