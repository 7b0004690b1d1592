// Threads and programs run side by side: each has places of its own, and programs have hosts that start when they are needed.
import { expect, test } from 'vitest';
import { shareGateway } from './gateway.ts';
import { opened, worker } from './sources.ts';
import { until } from './until.ts';

const program = `#!/usr/bin/env node
const { appendFileSync, existsSync, readFileSync, watch } = require('node:fs');
${opened}
const { job_id: job, attempt, event } = JSON.parse(readFileSync(0));
const note = what => appendFileSync('../../journal', JSON.stringify({ job, attempt, what }) + '\\n');
const end = () => {
  note('end');
  console.log(JSON.stringify({ status: 'ok', result: event.payload }));
};
note('start');
if (event.payload.gate) opened('../..', 'gate-' + event.payload.gate).then(end);
else end();
`;
const code = { code: program, entrypoint: 'main.cjs', runtime: 'process', commands: { handle: {} } };
const gateway = shareGateway({
  service: { max_workers: 2 },
  plugins: { worker, program: code },
  instances: { program: { retry: { backoff_base: '1ms' } } },
});

/** The hosts that have come up, in order. */
function hosts(): { readonly host: unknown; readonly pid: number }[] {
  const up = gateway.log.filter(line => line.msg === 'the plugin host is up');
  return up.map(line => ({ host: line['host'], pid: Number(line['pid']) }));
}

test('without a program to run there is one host', async () => {
  await gateway.finished('worker/handle');
  expect(hosts().map(({ host }) => host)).toEqual(['main']);
});

test.each([
  ['threads', 'worker', 'program'],
  ['programs', 'program', 'worker'],
])('when all %s are held, the others run', async (_, slow, other) => {
  const gate = `slow-${slow}`;
  const held = await Promise.all([1, 2].map(() => gateway.submit(`${slow}/handle`, { gate })));
  for (const id of held) await gateway.noted('start', id);
  const behind = await gateway.submit(`${slow}/handle`, { gate });
  for (const n of [1, 2, 3]) expect(await gateway.finished(`${other}/handle`, { n })).toMatchObject({ attempt: 1 });
  expect(gateway.notesOf(behind)).toEqual([]);
  gateway.open(gate);
  for (const id of [...held, behind]) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded' });
});

test('when a host of programs is killed, its program runs again, and nothing else notices', async () => {
  const thread = await gateway.submit('worker/handle', { gate: 'thread' });
  const programs = await Promise.all([1, 2].map(() => gateway.submit('program/handle', { gate: 'killed' })));
  for (const id of [thread, ...programs]) await gateway.noted('start', id);
  process.kill(hosts().findLast(({ host }) => host === 'programs-1')!.pid, 'SIGKILL');
  const again = await until('it runs again', () => programs.find(id => gateway.notesOf(id).length === 2));
  gateway.open('killed');
  gateway.open('thread');
  for (const id of [thread, ...programs]) {
    // This job was alone in the host that was killed, so its attempt was charged.
    const attempt = id === again ? 2 : 1;
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt });
    expect(gateway.notesOf(id)).toHaveLength(1 + attempt);
  }
});
