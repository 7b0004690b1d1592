// Results of many MiB that meet at a join: the job after the join gets them, and callers can read them, also after a restart.
import { expect, test } from 'vitest';
import { startGateway } from './gateway.ts';
import { worker } from './sources.ts';

const count = 6;
const bytes = 1_000_000;
const large = `export const handle = ({ event }) => ({ result: String(event.payload.item).repeat(${bytes}) });`;
const each = { id: 'each', uses: 'large', foreach: 'payload.list' };
const list = Array.from({ length: count }, (_, n) => n);
const results = list.map(n => String(n).repeat(bytes));

test('a join of many MiB reaches its job, and is shown, across a kill of the service', async () => {
  const gateway = await startGateway({
    plugins: { worker, large },
    pipelines: [
      { name: 'joined', steps: [each, { id: 'all', uses: 'worker', join: 'all', with: { gate: 'joined' } }] },
      { name: 'listed', steps: [each] },
    ],
  });
  const run = await gateway.run('joined', { list });
  await gateway.noted('start');
  const all = (await gateway.tree(run)).at(-1)!.job_id;
  const listed = await gateway.ran('listed', { list });
  await gateway.restart();
  gateway.open('joined');
  const whole = { results, succeeded: count, failed: 0, gate: 'joined' };
  const isSame = (value: unknown, wanted: unknown) => JSON.stringify(value) === JSON.stringify(wanted);
  expect(isSame((await gateway.settled(all)).result!.result, whole)).toBe(true);
  expect((await gateway.call('GET', `/job/${all}`)).body).toMatchObject({ omitted: ['payload'], step_id: 'all' });
  const shown = (await gateway.call('GET', `/job/${all}?include=payload`)).body;
  expect(isSame(shown['payload'], whole)).toBe(true);
  expect(isSame((await gateway.job(listed.job_id)).result!.result, results)).toBe(true);
  expect((await gateway.call('GET', '/system/selfcheck')).body['failures']).toEqual([]);
});
