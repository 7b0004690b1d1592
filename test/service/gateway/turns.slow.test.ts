// Which jobs run at the same time: parallelism, plugins that are not `concurrency_safe`, and fair turns between plugins.
import { expect, test } from 'vitest';
import { type Note, shareGateway, startGateway } from './gateway.ts';
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
const deadly = `export const handle = () => process.kill(process.pid, 'SIGKILL');`;
const thirty = Array.from({ length: 30 }, (_, i) => i);

const shared = shareGateway({
  service: { max_workers: 3 },
  plugins: { worker, alone: { code: brief, concurrency_safe: false }, deadly },
  instances: {
    bounded: { uses: 'worker', parallelism: 2 },
    flood: { uses: 'worker' },
    other: { uses: 'alone' },
    third: { uses: 'alone' },
    deadly: { retry: { max_attempts: 2, backoff_base: '1ms' } },
  },
});

/** What these jobs have noted, once all of them have ended. */
async function notesOf(ids: readonly string[]): Promise<Note[]> {
  await shared.allSettled(ids);
  return shared.journal().filter(({ job }) => ids.includes(job));
}

test('parallelism bounds how many jobs of a plugin run at once', async () => {
  const ids = await Promise.all(thirty.map(() => shared.submit('bounded/handle', { gate: 'bounded' })));
  await until('two run', () => shared.journal().filter(({ job }) => ids.includes(job)).length >= 2);
  shared.open('bounded');
  const notes = await notesOf(ids);
  expect(notes).toHaveLength(60);
  expect(mostAtOnce(notes)).toBe(2);
});

test('without parallelism a plugin may use every worker', async () => {
  const ids = await Promise.all(thirty.slice(0, 5).map(() => shared.submit('worker/handle', { gate: 'free' })));
  await until('three run', () => shared.journal().filter(({ job }) => ids.includes(job)).length >= 3);
  shared.open('free');
  expect(mostAtOnce(await notesOf(ids))).toBe(3);
});

test('never two jobs at once of a plugin that is not concurrency_safe, over all its instances', async () => {
  const instances = ['alone', 'other', 'third'];
  const notes = await notesOf(await Promise.all(thirty.map(i => shared.submit(`${instances[i % 3]}/handle`))));
  expect(notes).toHaveLength(60);
  expect(mostAtOnce(notes)).toBe(1);
});

test('a flood of one plugin does not delay the job of another', async () => {
  const held = await Promise.all([1, 2, 3].map(() => shared.submit('flood/handle', { gate: 'start' })));
  for (const id of held) await shared.noted('start', id);
  const flood = await Promise.all(Array.from({ length: 200 }, () => shared.submit('flood/handle', { gate: 'flood' })));
  const single = await shared.submit('worker/handle');
  shared.open('start');
  // The single job runs as soon as a thread is free, although the flood was submitted before it and cannot end.
  expect(await shared.settled(single)).toMatchObject({ status: 'succeeded' });
  shared.open('flood');
  await shared.allSettled([...held, ...flood]);
});

test('never two at once either when a neighbour takes the host down', async () => {
  const submit = (i: number) => shared.submit(i === 4 ? 'deadly/handle' : i % 2 ? 'alone/handle' : 'other/handle');
  const ids = await Promise.all(thirty.slice(0, 12).map(submit));
  const notes = await notesOf(ids);
  const ended = notes.filter(({ what }) => what === 'end');
  expect(new Set(ended.map(({ job }) => job)).size).toBe(11);
  expect(overlaps(notes)).toEqual([]);
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
  // Both may run again, in any order, but not at the same time; jobs of other plugins run meanwhile.
  await until('one of them runs again', () => gateway.journal().filter(({ what }) => what === 'start').length > 2);
  for (let n = 0; n < 5; n++) await gateway.finished('echo/handle');
  gateway.open('suspect');
  gateway.open('waiting');
  for (const id of [suspect, waiting])
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(overlaps(gateway.journal().filter(({ job }) => job !== killer))).toEqual([]);
});

/** The ends of jobs after another job has started: the two overlapped. A start without an end belongs to a killed attempt. */
function overlaps(notes: readonly Note[]): Note[] {
  let current: string | null = null;
  const found: Note[] = [];
  for (const note of notes) {
    if (note.what === 'start') current = note.job;
    else if (note.job !== current) found.push(note);
  }
  return found;
}
