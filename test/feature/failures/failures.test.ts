// GET /failures over HTTP (docs/contract.md#failures): groups of failed jobs, the jobs of a group as a filter, and the examples of
// docs/failures.md.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { type Gateway, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { failing, step } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { headgate } from '../cli/headgate.ts';
import { blocksOf } from '../kit/page.ts';

const names = ['grouped', 'paged', 'acted', 'scoped', 'typed', 'shown'];
const settings = {
  plugins: { failing, step, endless: 'export const handle = () => { for (;;); };' },
  instances: {
    ...Object.fromEntries(names.map(name => [name, { uses: 'failing' }])),
    ended: { uses: 'failing', retry: { max_attempts: 2, backoff_base: '1ms', backoff_max: '1ms' } },
    late: { uses: 'endless', timeouts: { handle: '60ms' }, retry: { max_attempts: 1 } },
  },
  pipelines: [{ name: 'steps', steps: [{ id: 'each', uses: 'step', foreach: 'payload.list', on_error: 'continue' }] }],
};
const shared = shareGateway({
  ...settings,
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'acting', token: 'token-acting', scopes: ['control:rw', 'jobs:status:ro', 'plugin:rw'] },
        { name: 'reading', token: 'token-reading', scopes: ['jobs:ro'] },
      ],
    },
  },
});

type Failure = {
  readonly fingerprint: string;
  readonly plugin: string;
  readonly command: string;
  readonly pattern: string;
  readonly count: number;
  readonly trend: readonly number[];
  readonly first_at: string;
  readonly last_at: string;
  readonly sample: { readonly job_id: string; readonly message: string };
};
type Page = {
  readonly failures: readonly Failure[];
  readonly total: number;
  readonly indexed_to?: string;
  readonly next_cursor?: string;
};

async function failures(query: string, gateway: Gateway = shared): Promise<Page> {
  const { status, body } = await gateway.call('GET', `/failures?${query}`);
  expect([status, body['detail']]).toEqual([200, undefined]);
  return body as unknown as Page;
}

/** Returns the page once the index has counted this number of failed jobs of the plugin. */
function counted(plugin: string, count: number, gateway: Gateway = shared): Promise<Page> {
  return until(`${count} failures of ${plugin}`, async () => {
    const page = await failures(`plugin=${plugin}&limit=200`, gateway);
    return page.failures.reduce((sum, group) => sum + group.count, 0) === count ? page : null;
  });
}

/** Runs a job that fails for good with this error; returns its id. */
async function fail(plugin: string, message: string, gateway: Gateway = shared): Promise<string> {
  return (await gateway.finished(`${plugin}/handle`, { message, retry: false })).job_id;
}

async function jobsOf(
  query: string,
  gateway: Gateway = shared,
): Promise<{ readonly ids: string[]; readonly total: number }> {
  const { status, body } = await gateway.call('GET', `/jobs?${query}`);
  expect([status, body['detail']]).toEqual([200, undefined]);
  const { jobs, total } = body as unknown as { readonly jobs: readonly { job_id: string }[]; readonly total: number };
  return { ids: jobs.map(({ job_id }) => job_id), total };
}

test('failed jobs with errors that differ in numbers, ids and quoted texts are one group', async () => {
  const ids = [
    await fail('grouped', "no user 'Ada' in tenant 7 after 30ms\nat somewhere:1"),
    await fail('grouped', "no user 'Grace' in tenant 12 after 4ms"),
    await fail('grouped', 'connect ECONNREFUSED 127.0.0.1:80'),
  ];
  const { failures: groups, total, indexed_to } = await counted('grouped', 3);
  expect(total).toBe(2);
  const fingerprint = expect.stringMatching(/^[0-9a-f]{16}$/);
  const of = { fingerprint, plugin: 'grouped', command: 'handle' };
  const ends = (await shared.allSettled(ids)).map(job => job.completed_at);
  expect(groups).toEqual([
    {
      ...{ ...of, pattern: 'connect ECONNREFUSED #', count: 1, trend: expect.any(Array) },
      ...{ first_at: ends[2], last_at: ends[2] },
      sample: { job_id: ids[2], message: 'connect ECONNREFUSED 127.0.0.1:80' },
    },
    {
      ...{ ...of, pattern: "no user '…' in tenant # after #ms", count: 2, trend: expect.any(Array) },
      ...{ first_at: ends[0], last_at: ends[1] },
      sample: { job_id: ids[1], message: "no user 'Grace' in tenant 12 after 4ms" },
    },
  ]);
  expect(groups.map(({ trend }) => [trend.length, ...trend.slice(0, 22)])).toEqual(
    Array(2).fill([24, ...Array(22).fill(0)]),
  );
  expect(groups.map(({ trend }) => trend[22]! + trend[23]!)).toEqual([1, 2]);
  expect(Date.parse(indexed_to!)).toBeGreaterThanOrEqual(Date.parse(ends[2]!));
  expect(await jobsOf(`fingerprint=${groups[1]!.fingerprint}`)).toEqual({ ids: [ids[1], ids[0]], total: 2 });
  expect(await jobsOf(`fingerprint=${groups[1]!.fingerprint}&error=grace`)).toEqual({ ids: [ids[1]], total: 1 });
  expect(await jobsOf(`fingerprint=${groups[1]!.fingerprint}&plugin=paged`)).toEqual({ ids: [], total: 0 });
  expect(await jobsOf(`fingerprint=${'0'.repeat(16)}`)).toEqual({ ids: [], total: 0 });
});

test('before the first attempt has ended, the list is counted up to no time', async () => {
  const gateway = await startGateway({ plugins: { failing } });
  expect((await gateway.call('GET', '/failures')).body).toEqual({ failures: [], total: 0 });
});

test('jobs that are dead or timed out, and runs, are in groups; a retried attempt is in none', async () => {
  const dead = await shared.finished('ended/handle', { message: 'down' });
  const late = await shared.finished('late/handle');
  expect([dead.status, late.status]).toEqual(['dead', 'timed_out']);
  const saved = await shared.finished('ended/handle', { message: 'down', times: 1 });
  expect(saved.status).toBe('succeeded');
  expect((await counted('ended', 1)).failures).toMatchObject([{ pattern: 'down', sample: { job_id: dead.job_id } }]);
  expect((await counted('late', 1)).failures).toMatchObject([{ count: 1, sample: { job_id: late.job_id } }]);
  const run = await shared.ran('steps', { list: 'no list' });
  expect(run.status).toBe('failed');
  expect((await counted('pipeline', 1)).failures).toMatchObject([{ command: 'steps', sample: { job_id: run.job_id } }]);
});

test('the group that was seen last comes first, page by page; filters select groups', async () => {
  for (const message of ['one', 'two', 'three', 'one', 'four']) await fail('paged', message);
  const { failures: all } = await counted('paged', 5);
  expect(all.map(({ pattern, count }) => [pattern, count])).toEqual([
    ['four', 1],
    ['one', 2],
    ['three', 1],
    ['two', 1],
  ]);
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await failures(`plugin=paged&command=handle&limit=3${cursor}`);
    expect(page.total).toBe(4);
    seen.push(...page.failures.map(({ pattern }) => pattern));
    if (page.next_cursor === undefined) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  expect(seen).toEqual(['four', 'one', 'three', 'two']);
  const within = async (query: string) =>
    (await failures(`plugin=paged&${query}`)).failures.map(({ pattern }) => pattern);
  expect(await within(`from=${all[1]!.last_at}`)).toEqual(['four', 'one']);
  expect(await within(`from=${all[2]!.last_at}&to=${all[1]!.last_at}`)).toEqual(['one', 'three']);
  expect(await failures('plugin=paged&command=other')).toMatchObject({ failures: [], total: 0 });
  expect(await failures('plugin=nobody')).toMatchObject({ failures: [], total: 0 });
});

test('an action takes the jobs of a group, also those inside runs if children are asked for', async () => {
  const ids = [await fail('acted', 'row 1 is bad'), await fail('acted', 'row 2 is bad')];
  await fail('acted', 'something else');
  const group = (await counted('acted', 3)).failures.find(({ pattern }) => pattern === 'row # is bad')!;
  const act = (where: object, more: object = {}) => shared.call('POST', '/actions', { do: 'rerun', where, ...more });
  const where = { fingerprint: group.fingerprint };
  expect(await act(where, { dry_run: true })).toMatchObject({
    status: 200,
    body: { matched: 2, sample: ids, index_at: expect.any(String) },
  });
  const started = await act(where, { reason: 'mended' });
  expect(started).toMatchObject({ status: 202, body: { matched: 2 } });
  await shared.settled(String(started.body['action_id']));
  const { failures: after } = await counted('acted', 5);
  expect(after.find(({ fingerprint }) => fingerprint === group.fingerprint)).toMatchObject({ count: 4 });
  expect((await jobsOf(`fingerprint=${group.fingerprint}`)).total).toBe(4);

  const run = await shared.ran('steps', { list: [{ fail: 'item 1' }, { fail: 'item 2' }, {}] });
  const inside = (await counted('step', 2)).failures[0]!;
  expect(inside).toMatchObject({ pattern: 'item #', count: 2 });
  expect((await jobsOf(`fingerprint=${inside.fingerprint}&run=${run.job_id}`)).total).toBe(2);
  const matched = async (more: object) =>
    (await act({ fingerprint: inside.fingerprint, ...more }, { dry_run: true })).body['matched'];
  expect([await matched({}), await matched({ children: true })]).toEqual([0, 2]);
});

test('a caller who may not see results cannot search by fingerprint', async () => {
  await fail('scoped', 'no');
  const { fingerprint } = (await counted('scoped', 1)).failures[0]!;
  const asked = (path: string, token: string) => shared.call('GET', path, undefined, { token });
  for (const path of ['/failures?plugin=scoped', `/jobs?fingerprint=${fingerprint}`]) {
    expect(await asked(path, 'token-reading')).toMatchObject({ status: 200, body: { total: 1 } });
    expect(await asked(path, 'token-acting')).toMatchObject({ status: 403 });
  }
  const body = { do: 'rerun', where: { fingerprint }, dry_run: true };
  expect(await shared.call('POST', '/actions', body, { token: 'token-acting' })).toMatchObject({
    status: 403,
    body: { detail: expect.stringContaining('jobs:result:ro') },
  });
});

const form = 'must be the fingerprint of a group of GET /failures, such as 5f0c2ab17d94e836: 16 of 0-9 and a-f';

test.each([
  ['/jobs?fingerprint=12', `the query parameter "fingerprint" ${form}`],
  [`/jobs?fingerprint=${'A'.repeat(16)}`, `the query parameter "fingerprint" ${form}`],
  ['/jobs?from=yesterday', 'the query parameter "from" must be an RFC 3339 time, such as 2026-01-31T12:00:00Z'],
  ['/failures?to=1', 'the query parameter "to" must be an RFC 3339 time, such as 2026-01-31T12:00:00Z'],
  ['/failures?limit=201', 'the query parameter "limit" must be a whole number from 1 to 200'],
  ['/failures?cursor=a', 'the query parameter "cursor" must be a next_cursor of this list'],
  ['/failures?status=dead', 'unknown query parameter "status"'],
])('GET %s is refused', async (path, detail) => {
  expect(await shared.call('GET', path)).toMatchObject({ status: 400, body: { code: 'invalid_query', detail } });
});

test.each([
  [{ fingerprint: '12' }, `/where/fingerprint ${form}`],
  [{ created_from: 'now' }, '/where/created_from must be an RFC 3339 time, such as 2026-01-31T12:00:00Z'],
  [{ created_to: '2026-02-30T00:00:00Z' }, '/where/created_to must be an RFC 3339 time, such as 2026-01-31T12:00:00Z'],
])('where %j is refused', async (where, detail) => {
  const answer = await shared.call('POST', '/actions', { do: 'cancel', where });
  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', detail } });
});

test('the command line lists groups, and selects their jobs', async () => {
  const ids = [await fail('typed', "no 'a'"), await fail('typed', "no 'b'")];
  await counted('typed', 2);
  const run = (...words: string[]) =>
    headgate([...words, '--url', shared.url], { env: { HEADGATE_TOKEN: everythingToken } });
  const { json } = await run('failures', '--plugin', 'typed', '--json');
  expect(json).toMatchObject({ failures: [{ pattern: "no '…'", count: 2 }], total: 1 });
  const [{ fingerprint, last_at }] = json.failures;
  const printed = await run('failures', '--plugin', 'typed', '--from', '1h');
  const at = last_at.replace('T', ' ').slice(0, 23);
  expect(printed.stdout.split('\n')).toEqual([
    expect.stringMatching(/^FINGERPRINT +COUNT +LAST 24 HOURS +LAST \(UTC\) +WHAT +ERROR$/),
    expect.stringMatching(`^${fingerprint}      2  ·{22}[·▁-█]{2}  ${at}  typed\\.handle  no '…'$`),
    '',
  ]);
  expect(await run('failures', '--to', '1d', '--plugin', 'typed')).toMatchObject({ stderr: 'nothing matches\n' });
  const listed = await run('job', 'list', '--fingerprint', fingerprint, '--json');
  expect(listed.json.jobs.map(({ job_id }: { readonly job_id: string }) => job_id)).toEqual(ids.toReversed());
  const dry = await run('job', 'rerun', '--fingerprint', fingerprint, '--created-from', '1h', '--dry-run');
  expect(dry.stdout).toMatch(/^2 jobs match/);
  expect(await run('job', 'list', '--fingerprint', 'x')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('a fingerprint has 16 of 0-9 and a-f; "headgate failures" shows it'),
  });
});

test('the examples of docs/failures.md list, count and rerun the jobs of a group', async () => {
  await fail('shown', 'down 1');
  await fail('shown', 'down 2');
  const { fingerprint } = (await counted('shown', 2)).failures[0]!;
  const [example] = blocksOf(new URL('../../../docs/failures.md', import.meta.url)).filter(
    ({ name }) => name === 'failures',
  );
  const folder = join(shared.directory, 'shell');
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'headgate'),
    `#!/bin/sh\nexec '${process.execPath}' '${resolve('dist/cli/main.js')}' "$@"\n`,
  );
  chmodSync(join(folder, 'headgate'), 0o755);
  const env = {
    ...process.env,
    PATH: `${folder}:${process.env['PATH']}`,
    HEADGATE_URL: shared.url,
    HEADGATE_TOKEN: everythingToken,
    FINGERPRINT: fingerprint,
  };
  const { stdout } = await promisify(execFile)('bash', ['-e', '-c', example!.text], { cwd: folder, env });
  expect(stdout).toMatch(
    /^JOB .*\n.*shown\.handle.*\n.*shown\.handle.*\n2 jobs match, .*\n.*\n.*\n.* reruns: 2 jobs match/,
  );
  expect((await counted('shown', 4)).failures).toMatchObject([{ fingerprint, count: 4 }]);
});

/** The groups with the sums of their trends: an hour may begin between two reads, which moves all counts. */
const withoutHours = ({ failures }: Awaited<ReturnType<typeof counted>>) =>
  failures.map(group => ({ ...group, trend: group.trend.reduce((sum, count) => sum + count, 0) }));

test('groups survive a kill, and an index that is built again has the same', async () => {
  const gateway = await startGateway(settings);
  for (const message of ['down 1', 'down 2', 'lost']) await fail('grouped', message, gateway);
  const before = await counted('grouped', 3, gateway);
  await gateway.kill9();
  await gateway.start();
  expect(withoutHours(await counted('grouped', 3, gateway))).toEqual(withoutHours(before));
  await fail('grouped', 'down 3', gateway);
  const grown = await counted('grouped', 4, gateway);
  await gateway.kill9();
  rmSync(join(gateway.directory, 'data', 'search'), { recursive: true });
  await gateway.start();
  expect(withoutHours(await counted('grouped', 4, gateway))).toEqual(withoutHours(grown));
  const { fingerprint } = grown.failures[0]!;
  expect((await jobsOf(`fingerprint=${fingerprint}`, gateway)).total).toBe(3);
});
