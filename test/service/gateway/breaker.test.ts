// The breaker of a plugin: what it counts, and how the plugin and the instances that build on it try again.
import { expect, onTestFinished, test } from 'vitest';
import { shareGateway } from './gateway.ts';
import { journal } from './sources.ts';
import { until } from './until.ts';

/** Waits for the gate that the payload names, if any; then fails for good if the payload says so. */
const trying = `${journal}
export async function handle(request) {
  const { gate: name, fail } = request.event.payload;
  note(request, 'start');
  if (name) await gate(name);
  return fail ? { status: 'error', error: 'as asked', retry: false } : { result: {} };
}
`;
const careful = { code: trying, commands: { handle: { retry_safe: false } } };
const settings = {
  plugins: { trying, careful },
  instances: {
    base: { uses: 'trying', breaker: { failures: 1, of: 1, for: '100ms' } },
    built: { uses: 'base' },
    slow: { uses: 'trying', breaker: { failures: 2, of: 2, for: '1h' } },
    step: { uses: 'trying', breaker: { failures: 2, of: 2, for: '1h' } },
    strict: { uses: 'careful', breaker: { failures: 1, of: 1, for: '1h' } },
  },
  pipelines: [{ name: 'late', deadline: '1s', steps: [{ uses: 'step', with: { gate: 'never' } }] }],
};
const gateway = shareGateway(settings, { grace: '100ms' });

async function pauses(): Promise<readonly Record<string, unknown>[]> {
  return (await gateway.call('GET', '/pauses')).body['pauses'] as Record<string, unknown>[];
}

/**
 * Lets attempts fail until a breaker begins a pause, and returns the pause. On a busy machine, a deadline may pass before its attempt begins;
 * then nothing counts, and another one is made.
 */
function firstPause(failOnce: () => Promise<void>): Promise<Record<string, unknown>> {
  return until('a breaker opens', async () => {
    await failOnce();
    return (await pauses())[0];
  });
}

function resumeAtEnd(plugin: string): void {
  onTestFinished(async () => {
    await gateway.call('POST', `/control/plugin/${plugin}/resume`, {});
  });
}

test('attempts that their jobs’ deadlines have stopped count, and cancelled ones do not', async () => {
  resumeAtEnd('slow');
  const submit = async (fields: object) => {
    const { status, body } = await gateway.call('POST', '/plugin/slow/handle', {
      payload: { gate: 'never' },
      ...fields,
    });
    expect(status).toBe(202);
    return String(body['job_id']);
  };
  for (let count = 0; count < 2; count++) {
    const id = await submit({});
    await gateway.noted('start', id);
    await gateway.call('POST', `/job/${id}/cancel`, {});
    expect((await gateway.settled(id)).status).toBe('cancelled');
  }
  expect(await pauses()).toEqual([]);
  const pause = await firstPause(async () => {
    expect((await gateway.settled(await submit({ deadline: '1s' }))).status).toBe('timed_out');
  });
  expect(pause).toMatchObject({ by: 'breaker', reason: '2 of its last 2 attempts failed' });
});

test('attempts that the deadline of their run has stopped count', async () => {
  resumeAtEnd('step');
  const pause = await firstPause(async () => {
    expect((await gateway.ran('late')).status).toBe('timed_out');
  });
  expect(pause).toMatchObject({ target: { name: 'step' }, by: 'breaker' });
});

/** The number of the plugin's jobs that hosts hold. */
async function activeOf(plugin: string): Promise<unknown> {
  const { body } = await gateway.call('GET', '/analytics/queue');
  const lanes = body['plugin_lanes'] as readonly Record<string, unknown>[];
  return lanes.find(lane => lane['plugin'] === plugin)?.['active_count'];
}

test('while a breaker is half open, an instance that builds on its plugin runs one job at a time, and closes it', async () => {
  resumeAtEnd('base');
  await gateway.finished('base/handle', { fail: true });
  const ids: string[] = [];
  for (let count = 0; count < 4; count++) ids.push(await gateway.submit('built/handle', { gate: 'trial' }));
  await gateway.noted('start', ids[0]!);
  expect(await activeOf('built')).toBe(1);
  const { detail } = (await gateway.waiting(ids[1]!, 'worker'))['waits_for'] as { readonly detail: string };
  expect(detail).toMatch(/, 1 with workers; the breaker of base is half open: one trial job runs at a time$/);
  gateway.open('trial');
  expect((await gateway.allSettled(ids)).map(({ status }) => status)).toEqual(Array(4).fill('succeeded'));
  expect(await pauses()).toEqual([]);
});

test('a trial job runs while an older job of the plugin is under way', async () => {
  resumeAtEnd('base');
  onTestFinished(() => gateway.open('older'));
  const older = await gateway.submit('base/handle', { gate: 'older' });
  await gateway.noted('start', older);
  await gateway.finished('base/handle', { fail: true });
  expect((await gateway.finished('base/handle')).status).toBe('succeeded');
  expect(await pauses()).toEqual([]);
  expect((await gateway.job(older)).status).toBe('running');
});

test('a job of such an instance that fails opens the breaker again', async () => {
  resumeAtEnd('base');
  await gateway.finished('base/handle', { fail: true });
  const { completed_at: at } = await gateway.finished('built/handle', { fail: true });
  const [pause] = await pauses();
  expect(pause).toMatchObject({ target: { name: 'base' }, by: 'breaker', reason: 'the trial job of built failed' });
  expect(Date.parse(String(pause!['since']))).toBeGreaterThanOrEqual(Date.parse(at!));
});

test('attempts that are lost with the service do not count', async () => {
  resumeAtEnd('strict');
  for (const end of [() => gateway.kill9(), () => gateway.term()]) {
    const id = await gateway.submit('strict/handle', { gate: 'never' });
    await gateway.noted('start', id);
    await end();
    await gateway.start();
    expect((await gateway.settled(id)).status).not.toBe('succeeded');
    expect(await pauses()).toEqual([]);
  }
});
