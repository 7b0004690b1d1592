// Plugin code that misbehaves: the service stays up, each such job gets its outcome, and all others finish.
import { expect, test } from 'vitest';
import { type LogLine, shareGateway } from './gateway.ts';
import { journal, worker } from './sources.ts';
import { until } from './until.ts';

const evil = `${journal}
import { spawn } from 'node:child_process';
export const loop = request => { note(request, 'start'); for (;;); };
export const exit = request => { note(request, 'start'); process.exit(3); };
export const kill = request => { note(request, 'start'); process.kill(process.pid, 'SIGKILL'); };
export const kill_service = request => { note(request, 'start'); process.kill(process.ppid, 'SIGKILL'); };
export const abort = request => { note(request, 'start'); process.abort(); };
export const stray = request => {
  note(request, 'start');
  // The error comes while the handler is under way.
  setImmediate(() => { throw new Error('stray'); });
  return new Promise(() => {});
};
export const fill = request => {
  note(request, 'start');
  const all = new Map();
  for (let i = 0; ; i++) all.set(i, new Array(2000).fill(i + 0.5));
};
export const buffers = request => {
  note(request, 'start');
  const all = [];
  for (let i = 0; i < 64; i++) all.push(Buffer.alloc(2 ** 20, 1));
  return { result: { mb: all.length } };
};
`;
const good = `${journal}
export async function handle(request) {
  note(request, 'start');
  await pause(2);
  note(request, 'end');
  return { result: request.event.payload };
}
`;
const commands = ['loop', 'exit', 'kill', 'kill_service', 'abort', 'stray', 'fill'] as const;

const timeouts = Object.fromEntries(commands.map(name => [name, name === 'fill' ? '20s' : '500ms']));
const retry = (attempts: number) => ({ max_attempts: attempts, backoff_base: '1ms' });
/** All tests of this file use the same service, which must survive them. */
const shared = shareGateway({
  plugins: {
    evil,
    good,
    held: worker,
    careful: {
      code: `${journal} export async function handle(request) { note(request, 'start'); await gate('never'); }`,
      commands: { handle: { retry_safe: false } },
    },
  },
  instances: {
    evil: { timeouts, retry: retry(2) },
    evil_once: { uses: 'evil', retry: retry(1) },
    good: { retry: retry(2) },
    patient: { uses: 'good', retry: retry(9) },
    held: { retry: retry(9) },
  },
});

// This test comes first: after the others, the plugin `evil` is isolated, and runs beside no other.
test('a job that may not run twice and was beside one that took the host down has failed as lost, once', async () => {
  const careful = await shared.submit('careful/handle');
  await shared.noted('start', careful);
  await shared.finished('evil_once/kill');
  expect(await shared.settled(careful)).toMatchObject({ status: 'failed', last_error: 'lost while running' });
  // The lost attempt counts from when it was sent to the host until the host ended.
  const { started_at, completed_at } = await shared.job(careful);
  expect(Date.parse(String(started_at))).toBeLessThan(Date.parse(String(completed_at)));
  expect(shared.notesOf(careful)).toHaveLength(1);
});

test.each(commands)('code that does %s costs its own job, and nobody else an attempt', async command => {
  const before = await Promise.all([1, 2, 3, 4, 5, 6].map(n => shared.submit('good/handle', { n })));
  const bad = await shared.submit(`evil/${command}`);
  const after = await Promise.all([7, 8, 9].map(n => shared.submit('good/handle', { n })));
  expect(await shared.settled(bad)).toMatchObject({ status: 'dead', attempt: 2, last_error: expect.any(String) });
  for (const id of [...before, ...after]) {
    expect(await shared.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  }
  expect(await shared.finished('good/handle')).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect((await shared.call('GET', '/healthz')).body).toMatchObject({ status: 'ok', queue_depth: 0 });
});

test('many that take the host down at once each get their outcome, and all others finish', async () => {
  const all = await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      const isBad = i % 12 === 5;
      return { id: await shared.submit(isBad ? 'evil_once/kill' : 'good/handle'), isBad };
    }),
  );
  for (const { id, isBad } of all) {
    expect(await shared.settled(id)).toMatchObject({ status: isBad ? 'failed' : 'succeeded', attempt: 1 });
  }
});

test('memory within reason is no offence', async () => {
  expect(await shared.finished('evil_once/buffers')).toMatchObject({
    status: 'succeeded',
    result: { result: { mb: 64 } },
  });
});

test('a host that is killed from outside, again and again, costs no job its end', async () => {
  const hosts = () => mainHosts(shared.log);
  const before = new Set(hosts()).size - 1;
  const ids: string[] = [];
  for (const round of [1, 2, 3]) {
    await until('another host is up', () => new Set(hosts()).size >= before + round);
    const held = await shared.submit('held/handle', { gate: `round-${round}` });
    ids.push(
      held,
      ...(await Promise.all(Array.from({ length: 30 }, (_, n) => shared.submit('patient/handle', { n })))),
    );
    await shared.noted('start', held);
    process.kill(hosts().at(-1)!, 'SIGKILL');
    shared.open(`round-${round}`);
  }
  for (const id of ids) expect(await shared.settled(id)).toMatchObject({ status: 'succeeded' });
});

function mainHosts(log: readonly LogLine[]): number[] {
  const up = log.filter(line => line.msg === 'the plugin host is up' && line['host'] === 'main');
  return up.map(line => Number(line['pid']));
}
