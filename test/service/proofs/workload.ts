// What the services of these proofs do: jobs that end at once, fail and run again, keep a state, and make up pipelines; with callers.
import type { Gateway } from '../gateway/gateway.ts';
import { echo } from '../gateway/sources.ts';

/** Fails its first attempt. */
const flaky = `
export function handle({ attempt, event }) {
  if (attempt === 1) throw new Error('the first time');
  return { result: event.payload };
}
`;

/** Counts its jobs in its state. */
const counting = `
export function handle({ state }) {
  const count = (state.count ?? 0) + 1;
  return { result: { count }, state_updates: { count } };
}
`;

/** A job that ran alone when its service was killed is charged with an attempt, and hundreds of services are killed. */
const retry = { max_attempts: 100, backoff_base: '1ms', backoff_max: '20ms' };

export const workload = {
  plugins: { echo, flaky, counting },
  instances: { echo: { retry }, flaky: { retry }, counting: { retry, parallelism: 1 } },
  pipelines: [
    {
      name: 'wide',
      on: 'wide',
      steps: [
        { id: 'each', uses: 'echo', foreach: 'payload.list' },
        { id: 'all', uses: 'counting', join: 'all' },
      ],
    },
  ],
} as const;

/** Makes a round of calls. Resolves with the ids of the jobs; with `isRead`, only after the ends of one to four of them have been read. */
export async function callOnce(gateway: Gateway, round: number, isRead = true): Promise<string[]> {
  const text = 'x'.repeat(round % 5 === 0 ? 20_000 : 50);
  const ids = await Promise.all([
    gateway.submit('echo/handle', { round, text }),
    gateway.submit('flaky/handle', { round }),
    gateway.submit('counting/handle', { round }),
    gateway.run('wide', { list: [1, 2, 3] }),
  ]);
  if (isRead) for (const id of ids.slice(round % 4)) await gateway.settled(id);
  return ids;
}
