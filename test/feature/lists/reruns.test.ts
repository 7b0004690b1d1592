// GET /jobs by the job that was run again (`rerun_of`), and the same in `where` of actions and on the command line.
import { beforeAll, expect, test } from 'vitest';
import { rerunsListedMax } from '../../../actors/job/records/reruns.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo, failing } from '../../service/gateway/sources.ts';
import { headgate } from '../cli/headgate.ts';

const gateway = shareGateway({ plugins: { echo, failing } });

const unknown = '0198c0de-0000-7000-8000-000000000000';
/** A job, and its reruns, oldest first: one that succeeded, one that failed, and one that a pause holds. */
let old = '';
const reruns: string[] = [];

async function rerun(of: string, body: object): Promise<string> {
  const answer = await gateway.call('POST', `/job/${of}/rerun`, body);
  expect([answer.status, answer.body['detail']]).toEqual([202, undefined]);
  return String(answer.body['job_id']);
}

beforeAll(async () => {
  const { body } = await gateway.call('POST', '/plugin/failing/handle', {
    payload: { retry: false, message: 'the first' },
  });
  old = String(body['job_id']);
  await gateway.settled(old);
  for (const payload of [{ times: 0 }, { retry: false, message: 'out of paper' }]) {
    reruns.push(await rerun(old, { payload }));
    await gateway.settled(reruns.at(-1)!);
  }
  // Neither a rerun of a rerun nor a rerun of another job is a rerun of the first job.
  await gateway.settled(await rerun(reruns[1]!, {}));
  const other = await gateway.finished('echo/handle', {});
  await gateway.settled(await rerun(other.job_id, {}));
  await gateway.call('POST', '/control/plugin/failing/pause', {});
  reruns.push(await rerun(old, {}));
});

async function list(query: string): Promise<{ readonly ids: string[]; readonly total: number }> {
  const { status, body } = await gateway.call('GET', `/jobs?${query}`);
  expect([status, body['detail']]).toEqual([200, undefined]);
  const { jobs, total } = body as unknown as { readonly jobs: readonly { job_id: string }[]; readonly total: number };
  return { ids: jobs.map(({ job_id }) => job_id), total };
}

test('GET /jobs?rerun_of= lists the reruns of a job, newest first, beside every other filter', async () => {
  const [succeeded, failed, queued] = reruns as [string, string, string];
  const of = `rerun_of=${old}`;
  const { body } = await gateway.call('GET', `/job/${old}`);
  expect((await list(of)).ids).toEqual(body['reruns']);
  expect(await list(of)).toEqual({ ids: [queued, failed, succeeded], total: 3 });
  expect(await list(`rerun_of=${reruns[1]}`)).toMatchObject({ total: 1 });
  expect(await list(`rerun_of=${queued}`)).toEqual({ ids: [], total: 0 });
  expect(await list(`rerun_of=${unknown}`)).toEqual({ ids: [], total: 0 });
  for (const [status, id] of [
    ['succeeded', succeeded],
    ['failed', failed],
    ['queued', queued],
  ])
    expect(await list(`${of}&status=${status}`)).toEqual({ ids: [id], total: 1 });
  expect(await list(`${of}&plugin=echo`)).toEqual({ ids: [], total: 0 });
  expect(await list(`${of}&plugin=failing&command=handle`)).toMatchObject({ total: 3 });
  expect(await list(`${of}&error=paper`)).toEqual({ ids: [failed], total: 1 });
  expect(await list(`${of}&root=${failed}`)).toEqual({ ids: [failed], total: 1 });
  expect(await list(`${of}&root=${old}`)).toEqual({ ids: [], total: 0 });
  expect(await list(`${of}&tag=part:1`)).toEqual({ ids: [], total: 0 });
  expect(await list(`${of}&pipeline=small`)).toEqual({ ids: [], total: 0 });
  const { created_at: at } = await gateway.settled(failed);
  expect(await list(`${of}&to=${at}`)).toEqual({ ids: [failed, succeeded], total: 2 });
  const group = (await gateway.call('GET', `/jobs?${of}&limit=1`)).body;
  expect(group).toMatchObject({ jobs: [{ job_id: queued }], total: 3 });
  const next = await list(`${of}&limit=1&cursor=${group['next_cursor']}`);
  expect(next).toEqual({ ids: [failed], total: 3 });
});

test('an action takes the reruns of a job', async () => {
  const [succeeded, failed, queued] = reruns as [string, string, string];
  const matched = async (where: object) =>
    (await gateway.call('POST', '/actions', { do: 'rerun', where: { rerun_of: old, ...where }, dry_run: true })).body;
  expect(await matched({})).toMatchObject({ matched: 3, sample: [succeeded, failed, queued] });
  expect(await matched({ status: 'failed' })).toMatchObject({ matched: 1, sample: [failed] });
  expect(await matched({ status: 'queued' })).toMatchObject({ matched: 1, sample: [queued] });
  expect(await matched({ error: 'paper' })).toMatchObject({ matched: 1, sample: [failed] });
  expect(await matched({ root: old, children: true })).toMatchObject({ matched: 0 });
  expect(await matched({ job_id: succeeded })).toMatchObject({ matched: 1 });
  expect(await matched({ job_id: old })).toMatchObject({ matched: 0 });
  expect(await matched({ tag: 'part:1' })).toMatchObject({ matched: 0 });
  const refused = await gateway.call('POST', '/actions', { do: 'rerun', where: { rerun_of: 'x' } });
  expect(refused).toMatchObject({ status: 400, body: { detail: '/where/rerun_of must be the id of a job' } });
});

test('the command line lists and counts the reruns of a job', async () => {
  const run = (...words: string[]) =>
    headgate([...words, '--url', gateway.url], { env: { HEADGATE_TOKEN: everythingToken } });
  const { json } = await run('job', 'list', '--rerun-of', old, '--json');
  expect(json.jobs.map(({ job_id }: { readonly job_id: string }) => job_id)).toEqual(reruns.toReversed());
  const dry = await run('job', 'cancel', '--rerun-of', old, '--dry-run');
  expect(dry.stdout).toMatch(/^3 jobs match/);
});

test('GET /job/{job_id} shows the newest 100 reruns, and counts all', async () => {
  const { job_id: often } = await gateway.finished('echo/handle', {});
  const made: string[] = [];
  for (let n = 0; n < rerunsListedMax + 2; n++) made.push(await rerun(often, {}));
  const { body } = await gateway.call('GET', `/job/${often}`);
  expect(body).toMatchObject({ reruns: made.reverse().slice(0, 100), rerun_count: 102 });
});
