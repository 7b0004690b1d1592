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
const gateway = shareGateway({
  plugins: { echo, step, mends },
  pipelines: [
    {
      name: 'wide',
      steps: [
        { id: 'each', uses: 'mends', foreach: 'payload.of', on_error: 'continue' },
        { id: 'all', uses: 'echo', join: 'all' },
      ],
    },
  ],
});

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
