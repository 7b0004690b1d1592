// Hooks of runs in the real service: which pipelines start when a run fails or is cancelled, and what they are told.
import { expect, test } from 'vitest';
import { openSource } from '../../feature/events/reader.ts';
import { shareGateway } from './gateway.ts';
import { echo, failing } from './sources.ts';
import { until } from './until.ts';

const gateway = shareGateway({
  plugins: { echo, failing, teller: 'export const handle = ({ event }) => ({ result: event });' },
  instances: { failing: { retry: { max_attempts: 1 } } },
  pipelines: [
    {
      name: 'nightly',
      steps: [
        { id: 'one', uses: 'echo' },
        { id: 'two', uses: 'failing' },
      ],
    },
    { name: 'calm', steps: [{ uses: 'echo' }] },
    { name: 'alarm', on_hook: 'pipeline.failed', steps: [{ uses: 'teller' }] },
    { name: 'cancelled', on_hook: 'pipeline.cancelled', steps: [{ uses: 'teller' }] },
    { name: 'late', on_hook: 'pipeline.timed_out', steps: [{ uses: 'teller' }] },
  ],
});

/** What the hooks of a run were told. */
async function heard(run: string) {
  const started = (await gateway.tree(run)).filter(job => job.parent_job_id === run && job.plugin === 'pipeline');
  return gateway.allSettled(started.map(({ job_id }) => job_id));
}

test('a run that fails starts the pipeline that waits for it, in the same commit; one that succeeds does not', async () => {
  const run = await gateway.ran('nightly');
  const [alarm, ...others] = await heard(run.job_id);
  expect(others).toEqual([]);
  expect(alarm).toMatchObject({ command: 'alarm', status: 'succeeded', submitted_by: 'api:test' });
  expect(alarm!.result!.result).toMatchObject({
    type: 'pipeline.failed',
    source: 'pipeline',
    payload: {
      job_id: run.job_id,
      pipeline: 'nightly',
      status: 'failed',
      error: run.last_error,
      counts: { succeeded: 1, failed: 1, timed_out: 0, dead: 0, cancelled: 0 },
      submitted_by: 'api:test',
    },
  });
  const calm = await gateway.ran('calm');
  expect(await heard(calm.job_id)).toEqual([]);
});

test('the hook of a run has started once, also where the service is killed right after', async () => {
  const { job_id } = await gateway.ran('nightly');
  await gateway.restart();
  const [alarm, ...others] = await heard(job_id);
  expect([alarm!.status, others]).toEqual(['succeeded', []]);
  const report = (await gateway.call('GET', '/system/selfcheck')).body;
  expect(report).toMatchObject({ status: 'ok', failures: [] });
});

test('pipeline.timed_out is a type of the event stream', async () => {
  const { seen } = await openSource(gateway, '?types=pipeline.timed_out,pipeline.failed');
  await gateway.ran('nightly');
  await until('the run is told', () => seen.length > 0);
  expect(seen.map(({ type }) => type)).toEqual(['pipeline.failed']);
});

test('the skills name the hook', async () => {
  const { skills } = (await gateway.call('GET', '/skills')).body as { skills: { name: string }[] };
  expect(skills.find(({ name }) => name === 'pipeline.alarm')).toMatchObject({ trigger: 'pipeline.failed' });
});
