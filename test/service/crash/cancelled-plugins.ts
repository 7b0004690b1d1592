// The plugins and pipelines of the crash test of cancels. Each attempt writes down when its code was entered, and in which process.

const journal = `
import { appendFileSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
const home = resolve(import.meta.dirname, '../..');
const note = job => appendFileSync(home + '/journal', JSON.stringify({ job, at: Date.now() }) + '\\n');
`;

/** Waits for `wait` ms; if `deaf`, it ignores the signal. Its first `times` attempts fail. */
const threads = `${journal}
export async function handle({ job_id: job, attempt, event }, { signal }) {
  note(job);
  const { wait = 0, deaf = false, times = 0, emit = [] } = event.payload;
  await pause(wait, null, deaf ? {} : { signal });
  if (attempt <= times) throw new Error('as asked');
  return { result: {}, events: emit };
}
`;

/** A program writes down when its process was started, which counts as the time at which its code was entered. */
const processNote = `
const { appendFileSync, readFileSync } = require('node:fs');
const ticks = readFileSync('/proc/self/stat', 'latin1').replace(/^.*\\) /s, '').split(' ')[19];
const note = (job, at) => appendFileSync('../../journal', JSON.stringify({ job, at, pid: process.pid, ticks }) + '\\n');
`;
const program = `#!/usr/bin/env node
${processNote}
const { job_id: job, event } = JSON.parse(readFileSync(0));
const { wait = 0, deaf = false } = event.payload;
if (deaf) process.on('SIGTERM', () => {});
note(job, performance.timeOrigin);
setTimeout(() => console.log(JSON.stringify({ status: 'ok', result: {} })), wait);
`;
/** A program for many jobs. Its code is entered when the process gets the request. The test cannot know this time, so the note has 0. */
const served = `#!/usr/bin/env node
${processNote}
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, cancel, job_id: job, event } = JSON.parse(line);
  if (cancel !== undefined) {
    console.log(JSON.stringify({ id: cancel, status: 'error', error: 'cancelled', retry: true }));
    return;
  }
  note(job, 0);
  setTimeout(() => console.log(JSON.stringify({ id, status: 'ok', result: {} })), event.payload.wait ?? 0);
});
`;
const ofProcess = { entrypoint: 'main.cjs', runtime: 'process', commands: { handle: {} } };

export const plugins = {
  threads,
  together: { code: threads, commands: { handle: { concurrency: 4 } } },
  program: { code: program, ...ofProcess },
  served: { code: served, ...ofProcess, mode: 'persistent' },
  hearing: { code: served, ...ofProcess, mode: 'persistent', cancel: true },
};

const retry = { max_attempts: 6, backoff_base: '50ms', backoff_max: '200ms' };

export const instances = {
  threads: { retry },
  together: { retry },
  single: { uses: 'threads', parallelism: 1, retry },
  program: { retry },
  served: { retry },
  hearing: { retry },
};

const each = { id: 'each', uses: 'threads', foreach: 'payload.list', with: { wait: '{payload.item}' } };
export const pipelines = [
  {
    name: 'line',
    on: 'line',
    steps: [
      { id: 'one', uses: 'threads' },
      { id: 'two', uses: 'single' },
    ],
  },
  { name: 'fan', on: 'fan', steps: [each, { id: 'all', uses: 'single', join: 'all' }] },
  {
    name: 'outer',
    on: 'outer',
    steps: [
      { id: 'calls', call: 'fan', foreach: 'payload.lists', with: { list: '{payload.item.list}' } },
      { id: 'after', uses: 'single', join: 'all' },
    ],
  },
  // The test cancels it with `detached`, which also ends the runs of `heard` that its events have started.
  {
    name: 'source',
    on: 'source',
    steps: [
      { id: 'tell', uses: 'threads' },
      { id: 'last', uses: 'single' },
    ],
  },
  {
    name: 'heard',
    on: 'heard',
    steps: [
      { id: 'told', uses: 'threads' },
      { id: 'last', uses: 'single' },
    ],
  },
];
