// The breaker of a plugin: what it counts, and how the plugin and the instances that build on it try again.
import { expect, onTestFinished, test } from 'vitest';
import { shareGateway } from './gateway.ts';
import { journal } from './sources.ts';

/** Waits for the gate that the payload names, if any; then fails for good if the payload says so. */
const trying = `${journal}
export async function handle(request) {
  const { gate: name, fail } = request.event.payload;
  note(request, 'start');
  if (name) await gate(name);
  return fail ? { status: 'error', error: 'as asked', retry: false } : { result: {} };
}
`;
const settings = {
  plugins: { trying },
  instances: {
    slow: { uses: 'trying', breaker: { failures: 2, of: 2, for: '1h' } },
  },
};
const gateway = shareGateway(settings);

async function pauses(): Promise<readonly Record<string, unknown>[]> {
  return (await gateway.call('GET', '/pauses')).body['pauses'] as Record<string, unknown>[];
}

function resumeAtEnd(plugin: string): void {
  onTestFinished(async () => {
    await gateway.call('POST', `/control/plugin/${plugin}/resume`, {});
  });
}

test('attempts that their jobs’ deadlines have stopped count, and cancelled ones do not', async () => {
  resumeAtEnd('slow');
  const submit = async (fields: object) => {
    const { status, body } = await gateway.call('POST', '/plugin/slow/handle', { payload: { gate: 'never' }, ...fields });
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
  for (let count = 0; count < 2; count++)
    expect((await gateway.settled(await submit({ deadline: '1s' }))).status).toBe('timed_out');
  expect(await pauses()).toMatchObject([{ by: 'breaker', reason: '2 of its last 2 attempts failed' }]);
});
