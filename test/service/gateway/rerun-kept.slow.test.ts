// Retention and reruns: jobs that an open rerun refers to are kept; a run that has lost jobs can only be rerun from its start.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from './gateway.ts';
import { echo, journal } from './sources.ts';
import { until } from './until.ts';

/** An element with a gate fails while the file `sick` exists; without the file, it waits at the gate. */
const mends = `${journal}
export async function handle(request) {
  const { item } = request.event.payload;
  if (item.gate && existsSync(home + '/sick')) return { status: 'error', error: 'sick', retry: false };
  note(request, 'start');
  if (item.gate) await gate(item.gate);
  return { result: item };
}
`;

test('what a running rerun refers to is kept; afterwards a run that has lost jobs cannot be run again from what had failed', async () => {
  const gateway = await startGateway({
    state: { retention: { max_jobs: 40 } },
    plugins: { echo, mends },
    pipelines: [
      {
        name: 'wide',
        steps: [
          { id: 'each', uses: 'mends', foreach: 'payload.of', on_error: 'continue' },
          { id: 'all', uses: 'echo', join: 'all', collect: 'counts' },
        ],
      },
    ],
  });
  const total = async (query: string) => Number((await gateway.call('GET', `/jobs?${query}`)).body['total']);
  const rerun = (id: string, from = 'failed') => gateway.call('POST', `/job/${id}/rerun`, { from });
  const filled = async (count: number) => {
    for (let n = 0; n < count; n++) await gateway.submit('echo/say');
    // Of the 40 jobs that stay, 14 are those of the old tree.
    await until('a sweep is over', async () => (await total('plugin=echo&command=say')) <= 40 - 14);
  };
  const sick = join(gateway.directory, 'sick');
  writeFileSync(sick, '');
  const of = Array.from({ length: 12 }, (_, n) => ({ n, ...(n === 7 && { gate: 'late' }) }));
  const old = await gateway.ran('wide', { of });
  const made = (await gateway.tree(old.job_id)).map(({ job_id: id }) => id);
  rmSync(sick);
  const { body } = await rerun(old.job_id);
  const id = String(body['job_id']);
  await until('the new run has come to what had failed', () => gateway.journal().length === 12);

  // The old tree is older than all other jobs, but is kept, also after a restart.
  await filled(45);
  await gateway.restart();
  await filled(5);
  expect((await gateway.tree(old.job_id)).length).toBe(1 + 12 + 1);
  expect((await gateway.tree(id)).filter(job => 'reused' in job).length).toBe(11);
  gateway.open('late');
  const run = await gateway.settled(id);
  expect(run).toMatchObject({ status: 'succeeded', counts: { succeeded: 2, reused: 11 } });

  // After the rerun has ended, most jobs of the old tree are pruned. Both runs stay: a run is pruned only after its rerun.
  await until('the old jobs are gone', async () => (await gateway.tree(old.job_id)).length < 12);
  // A tree that was read before it lost jobs shows those that are still stored.
  const left = await gateway.tree(id);
  expect(left.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  expect(left.length).toBeLessThan(1 + 12 + 1);
  for (const again of [old.job_id, id]) {
    const { status, body: problem } = await rerun(again);
    expect([status, problem['code']]).toEqual([409, 'not_kept']);
    const lost =
      /^the job (\S+), which the run (\S+) made or reused, is no longer stored: rerun the run from the start$/;
    const [, job, named] = lost.exec(String(problem['detail'])) ?? [];
    expect([made.slice(1), named]).toEqual([expect.arrayContaining([job]), again]);
  }
  expect((await rerun(id, 'start')).status).toBe(202);
  expect((await gateway.call('GET', '/system/selfcheck')).body['failures']).toEqual([]);
});

test('what a delayed rerun refers to is kept across a restart, until the rerun has ended', async () => {
  const gateway = await startGateway({
    state: { retention: { max_jobs: 20 } },
    plugins: { echo },
    pipelines: [{ name: 'two', steps: [{ uses: 'echo' }, { uses: 'echo' }] }],
  });
  const old = await gateway.ran('two', { n: 1 });
  const { body } = await gateway.call('POST', `/job/${old.job_id}/rerun`, { from: 'failed', delay: '1d' });
  const id = String(body['job_id']);
  await gateway.restart();
  const total = async () => Number((await gateway.call('GET', '/jobs?plugin=echo&command=say')).body['total']);
  for (let n = 0; n < 30; n++) await gateway.submit('echo/say');
  await until('a sweep is over', async () => (await total()) < 20);
  expect((await gateway.tree(old.job_id)).length).toBe(3);
  expect((await gateway.call('POST', `/job/${id}/run-now`, {})).status).toBe(200);
  expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', counts: { reused: 2 } });
  expect((await gateway.call('GET', '/system/selfcheck')).body['failures']).toEqual([]);
  // Afterwards, newer jobs displace the rerun, and then its original.
  for (const job of [id, old.job_id]) {
    await until('it is gone', async () => {
      await gateway.submit('echo/say');
      return (await gateway.call('GET', `/job/${job}`)).status === 404;
    });
  }
});

test('a job is kept until its delayed rerun from the start has ended', async () => {
  const gateway = await startGateway({ state: { retention: { max_jobs: 1 } }, plugins: { echo } });
  const { job_id: old } = await gateway.finished('echo/say');
  const headers = { 'Idempotency-Key': 'again' };
  const rerun = () => gateway.call('POST', `/job/${old}/rerun`, { delay: '1h' }, { headers });
  const first = await rerun();
  expect(first.status).toBe(202);
  const gone = async (id: string) => (await gateway.call('GET', `/job/${id}`)).status === 404;
  const [newer] = [await gateway.submit('echo/say'), await gateway.submit('echo/say')];
  await until('a sweep has passed the old job', () => gone(newer));
  expect(await gateway.job(old)).toMatchObject({ status: 'succeeded', reruns: [first.body['job_id']] });
  expect((await rerun()).body).toEqual(first.body);
  await gateway.call('POST', `/job/${first.body['job_id']}/cancel`);
  await until('the old job is gone', () => gone(old));
});

/** Starts two reruns that share a block. They do not share one if the first used up the time of its turn; then this starts again. */
async function rerunsInOneBlock() {
  for (;;) {
    const pipelines = [{ name: 'one', steps: [{ uses: 'mends' }] }];
    const gateway = await startGateway({ plugins: { mends }, pipelines });
    const sick = join(gateway.directory, 'sick');
    writeFileSync(sick, '');
    for (const gate of ['a', 'b']) await gateway.ran('one', { item: { gate } });
    rmSync(sick);
    const where = { pipeline: 'one', status: 'failed' };
    const { body } = await gateway.call('POST', '/actions', { do: 'rerun', from: 'failed', where });
    await gateway.settled(String(body['action_id']));
    await until('both are at their gates', () => gateway.journal().length === 2);
    const { body: page } = await gateway.call('GET', '/jobs?plugin=pipeline&status=running');
    const runs = page['jobs'] as { job_id: string }[];
    expect(runs).toHaveLength(2);
    if (new Set(runs.map(({ job_id: id }) => id.slice(0, -8))).size === 1) return { gateway, runs };
    for (const gate of ['a', 'b']) gateway.open(gate);
  }
}

test('of two reruns in one block, the one that has ended is no delayed one', async () => {
  const { gateway, runs } = await rerunsInOneBlock();
  gateway.open('a');
  await until('one of them has ended', async () => {
    const { body } = await gateway.call('GET', '/jobs?plugin=pipeline&status=succeeded');
    return body['total'] === 1;
  });
  const selfcheck = async () => (await gateway.call('GET', '/system/selfcheck')).body['failures'];
  expect(await selfcheck()).toEqual([]);
  await gateway.restart();
  expect(await selfcheck()).toEqual([]);
  gateway.open('b');
  for (const { job_id: id } of runs) expect((await gateway.settled(id)).status).toBe('succeeded');
});
