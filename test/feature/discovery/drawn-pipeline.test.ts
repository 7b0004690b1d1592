// GET /pipeline/{pipeline}: a pipeline as it is drawn, without the values that it passes on.
import { expect, test } from 'vitest';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';

const gateway = shareGateway({
  plugins: { echo },
  pipelines: [
    {
      name: 'all',
      description: 'Has every form of step.',
      on: 'list.found',
      execution_mode: 'synchronous',
      timeout_secs: 7,
      deadline: '2m',
      if: { path: 'payload.token', op: 'eq', value: 'sesame' },
      input_schema: { list: 'array' },
      steps: [
        {
          id: 'fork',
          on_error: 'continue',
          split: [
            { name: 'left', steps: [{ id: 'each', uses: 'echo', foreach: 'payload.list', with: { key: 'hidden' } }] },
            [{ id: 'called', call: 'other', timeout: '3s' }],
          ],
        },
        {
          id: 'inner',
          join: 'all',
          if: {
            any: [
              { path: 'payload.size', op: 'gt', value: 3 },
              { path: 'payload.name', op: 'exists', value: true },
            ],
          },
          steps: [{ id: 'said', uses: 'echo.say' }],
        },
        { id: 'counted', uses: 'echo', join: 'all', collect: 'counts' },
      ],
      on_failure: [{ id: 'tell', uses: 'echo' }],
      finally: [{ id: 'clean', uses: 'echo', timeout: '1s' }],
    },
    { name: 'other', on_hook: 'job.failed', steps: [{ uses: 'echo' }] },
  ],
});

test('steps are inside each other, with their branches, phases, joins and conditions', async () => {
  const { status, body } = await gateway.call('GET', '/pipeline/all');
  expect(status).toBe(200);
  const handle = { plugin: 'echo', command: 'handle' };
  expect(body).toEqual({
    name: 'all',
    description: 'Has every form of step.',
    on: 'list.found',
    execution_mode: 'synchronous',
    timeout_ms: 7_000,
    deadline_ms: 120_000,
    phase_timeout_ms: 300_000,
    input_schema: { type: 'object', properties: { list: { type: 'array' } } },
    if: 'payload.token eq "[REDACTED]"',
    steps: [
      {
        ...{ id: 'fork', kind: 'split', on_error: 'continue' },
        branches: [
          {
            name: 'left',
            steps: [{ id: 'each', kind: 'uses', on_error: 'continue', ...handle, foreach: 'payload.list' }],
          },
          {
            name: null,
            steps: [{ id: 'called', kind: 'call', on_error: 'continue', pipeline: 'other', timeout_ms: 3_000 }],
          },
        ],
      },
      {
        ...{ id: 'inner', kind: 'steps', join: 'results', if: '(payload.size gt 3) or (payload.name exists)' },
        steps: [{ id: 'said', kind: 'uses', plugin: 'echo', command: 'say' }],
      },
      { id: 'counted', kind: 'uses', join: 'counts', ...handle },
    ],
    on_failure: [{ id: 'tell', kind: 'uses', ...handle }],
    finally: [{ id: 'clean', kind: 'uses', ...handle, timeout_ms: 1_000 }],
  });
  expect(JSON.stringify(body)).not.toMatch(/hidden|sesame/);
});

test('a step without an id has its position, and a hook is named', async () => {
  expect((await gateway.call('GET', '/pipeline/other')).body).toMatchObject({
    on_hook: 'job.failed',
    steps: [{ id: '1', kind: 'uses' }],
  });
});

test('a pipeline that there is not is unknown', async () => {
  const { status, body } = await gateway.call('GET', '/pipeline/absent');
  expect([status, body['code']]).toEqual([404, 'unknown_pipeline']);
});
