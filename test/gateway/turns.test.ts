// Who runs beside whom: parallelism, plugins that are not safe beside themselves, and fair turns between plugins.
import { expect, test } from 'vitest';
import { type Note, startGateway } from './gateway.ts';
import { echo, journal, worker } from './sources.ts';
import { until } from './until.ts';

/** The most that ran at the same time, by the journal. */
function mostAtOnce(notes: readonly Note[]): number {
  let running = 0;
  let most = 0;
  for (const { what } of notes) {
    running += what === 'start' ? 1 : -1;
    most = Math.max(most, running);
  }
  return most;
}

const brief = `${journal}
export async function handle(request) {
  note(request, 'start');
  await pause(1);
  note(request, 'end');
}
`;
const thirty = Array.from({ length: 30 }, (_, i) => i);

test('parallelism bounds how many jobs of a plugin run at once', async () => {
  const gateway = await startGateway({
    service: { max_workers: 4 },
    plugins: { worker },
    instances: { worker: { parallelism: 2 } },
  });
  const ids = await Promise.all(thirty.map(() => gateway.submit('worker/handle', { gate: 'all' })));
  await gateway.noted('start', 2);
  gateway.open('all');
  await Promise.all(ids.map(id => gateway.settled(id)));
  expect(gateway.journal()).toHaveLength(60);
  expect(mostAtOnce(gateway.journal())).toBe(2);
});

test('without parallelism a plugin may use every worker', async () => {
  const gateway = await startGateway({ service: { max_workers: 3 }, plugins: { worker } });
  const ids = await Promise.all(thirty.slice(0, 5).map(() => gateway.submit('worker/handle', { gate: 'all' })));
  await gateway.noted('start', 3);
  gateway.open('all');
  await Promise.all(ids.map(id => gateway.settled(id)));
  expect(mostAtOnce(gateway.journal())).toBe(3);
});

test('never two jobs at once of a plugin that is not concurrency_safe, over all its instances', async () => {
  const gateway = await startGateway({
    service: { max_workers: 3 },
    plugins: { alone: { code: brief, concurrency_safe: false } },
    instances: { other: { uses: 'alone' }, third: { uses: 'alone' } },
  });
  const instances = ['alone', 'other', 'third'];
  const ids = await Promise.all(thirty.map(i => gateway.submit(`${instances[i % 3]}/handle`)));
  await Promise.all(ids.map(id => gateway.settled(id)));
  expect(gateway.journal()).toHaveLength(60);
  expect(mostAtOnce(gateway.journal())).toBe(1);
});

test('never two at once either when a neighbour takes the host down', async () => {
  const deadly = `export const handle = () => process.kill(process.pid, 'SIGKILL');`;
  const gateway = await startGateway({
    service: { max_workers: 3 },
    plugins: { alone: { code: brief, concurrency_safe: false }, deadly },
    instances: { other: { uses: 'alone' }, deadly: { retry: { max_attempts: 2, backoff_base: '1ms' } } },
  });
  const submit = (i: number) =>
    gateway.submit(i % 10 === 4 ? 'deadly/handle' : i % 2 ? 'alone/handle' : 'other/handle');
  const ids = await Promise.all(thirty.map(submit));
  await Promise.all(ids.map(id => gateway.settled(id)));
  const ended = gateway.journal().filter(({ what }) => what === 'end');
  expect(new Set(ended.map(({ job }) => job)).size).toBe(27);
  expect(overlaps(gateway.journal())).toEqual([]);
});

test('never two at once either when one of them must run again alone', async () => {
  const deadly = `${journal}
    export async function handle(request) {
      note(request, 'start');
      await gate('die');
      process.kill(process.pid, 'SIGKILL');
    }`;
  const gateway = await startGateway({
    service: { max_workers: 2 },
    plugins: { worker: { code: worker, concurrency_safe: false }, deadly, echo },
    instances: { deadly: { retry: { max_attempts: 1 } } },
  });
  const killer = await gateway.submit('deadly/handle');
  await gateway.noted('start', killer);
  const suspect = await gateway.submit('worker/handle', { gate: 'suspect' });
  await gateway.noted('start', suspect);
  const waiting = await gateway.submit('worker/handle', { gate: 'waiting' });
  gateway.open('die');
  await gateway.settled(killer);
  // Both may run now; whichever is first, the other must wait for it, while others come and go.
  await until('one of them runs again', () => gateway.journal().filter(({ what }) => what === 'start').length > 2);
  for (let n = 0; n < 5; n++) await gateway.finished('echo/handle');
  gateway.open('suspect');
  gateway.open('waiting');
  for (const id of [suspect, waiting])
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(overlaps(gateway.journal().filter(({ job }) => job !== killer))).toEqual([]);
});

/** Ends that come after the start of another job: their runs overlapped. A start without an end was killed. */
function overlaps(notes: readonly Note[]): Note[] {
  let current: string | null = null;
  const found: Note[] = [];
  for (const note of notes) {
    if (note.what === 'start') current = note.job;
    else if (note.job !== current) found.push(note);
  }
  return found;
}

test('a flood of one plugin does not delay the job of another', async () => {
  const gateway = await startGateway({ service: { max_workers: 2 }, plugins: { worker, flood: worker } });
  const held = await Promise.all([1, 2].map(() => gateway.submit('flood/handle', { gate: 'start' })));
  await gateway.noted('start', 2);
  const flood = await Promise.all(Array.from({ length: 600 }, () => gateway.submit('flood/handle', { gate: 'flood' })));
  const single = await gateway.submit('worker/handle');
  gateway.open('start');
  // Behind what the two threads hold: it ends although nothing of the flood that waits before it can.
  expect(await gateway.settled(single)).toMatchObject({ status: 'succeeded' });
  gateway.open('flood');
  await Promise.all([...held, ...flood].map(id => gateway.settled(id)));
});
