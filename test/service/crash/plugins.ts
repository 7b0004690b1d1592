// Plugins of the crash test. Each run appends what it does to one file, so that the order of lines is the order of events.

const notes = `
import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
const journal = resolve(import.meta.dirname, '../../journal');
// Read once: when the service is gone, this process gets another parent.
const service = process.ppid;
let runs = 0;
const begin = ({ job_id: job, attempt }) => {
  const run = process.pid + '.' + Math.random().toString(36).slice(2) + '.' + ++runs;
  const note = what => appendFileSync(journal, JSON.stringify({ job, attempt, service, run, what }) + '\\n');
  note('start');
  return note;
};
`;

/** Waits for `wait` ms (at its first attempt: `firstWait`, if given) in short pauses, and notes each (`breath`). If `flaky`, its first attempt fails. */
const working = `${notes}
export async function handle(request) {
  const note = begin(request);
  const { item, index, wait = 0, firstWait = wait, flaky = false } = request.event.payload;
  const waitMs = item?.wait ?? (request.attempt === 1 ? firstWait : wait);
  const breathMs = waitMs > 100 ? 20 : 2;
  for (let ms = 0; ms < waitMs; ms += breathMs) {
    await pause(breathMs);
    note('breath');
  }
  if ((item?.flaky ?? flaky) && request.attempt === 1) {
    note('end');
    throw new Error('flaky');
  }
  note('end');
  return { result: item ? { index, value: item.value } : request.event.payload };
}
`;

/** Blocks its thread for `wait` ms; at its first attempt, for `firstWait` ms. */
const blocking = `${notes}
export function handle(request) {
  const note = begin(request);
  const { wait, firstWait } = request.event.payload;
  const endMs = performance.now() + (request.attempt === 1 ? firstWait : wait);
  while (performance.now() < endMs) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    note('breath');
  }
  note('end');
  return { result: request.event.payload };
}
`;

/** Adds up the results of a fan-out. */
const adding = `${notes}
export function handle(request) {
  const note = begin(request);
  const { results, succeeded, failed } = request.event.payload;
  note('end');
  const sum = results.reduce((total, { value }) => total + value, 0);
  return { result: { sum, succeeded, failed, indexes: results.map(({ index }) => index) } };
}
`;

/** Counts its jobs in its state. Result and state of a job are in the same commit, so no two jobs have the same count. */
const counting = `${notes}
export function handle(request) {
  const note = begin(request);
  const count = (request.state.count ?? 0) + 1;
  note('end');
  return { result: { count }, state_updates: { count } };
}
`;

/** Its result has the names of the secrets that it was given, and the value in its payload. */
const keeping = `${notes}
export function handle(request) {
  const note = begin(request);
  note('end');
  return { result: { secrets: Object.keys(request.secrets ?? {}), value: request.event.payload.value } };
}
`;

/** A program: a process per attempt, which must not outlive its service for long. If `long`, its first attempt takes more than a minute. */
const program = `#!/bin/sh
read request
job=\${request#*'"job_id":"'}
job=\${job%%'"'*}
note() { printf '{"job":"%s","attempt":0,"service":0,"run":"%s","what":"%s"}\\n' "$job" "$$" "$1" >> ../../journal; }
note start
breaths='1 2 3'
case "$request" in *'"attempt":1,'*'"long":true'*) breaths=$(seq 12000) ;; esac
for breath in $breaths; do sleep 0.005; note breath; done
note end
echo '{"status":"ok","result":{"job":"'$job'"}}'
`;

export const plugins = {
  working,
  blocking,
  adding,
  counting,
  keeping,
  program: { code: program, entrypoint: 'run.sh', runtime: 'process', commands: { handle: {} } },
};

export const secretName = 'crash-secret';
export const webhookKey = 'a-key-of-the-crash-test';
export const webhooks = {
  endpoints: [
    { name: 'kept', path: '/webhook/kept', plugin: 'keeping', secret_ref: 'kept', signature_header: 'X-Signature' },
  ],
};

/** A job may have so many attempts that kills never use them up. */
export const retry = { max_attempts: 1000, backoff_base: '1ms', backoff_max: '20ms' };

export const pipelines = [
  {
    name: 'fan',
    on: 'fan',
    steps: [
      { id: 'each', uses: 'working', foreach: 'payload.list' },
      { id: 'sum', uses: 'adding', join: 'all' },
    ],
  },
  {
    name: 'outer',
    on: 'outer',
    steps: [
      { id: 'inner', call: 'fan' },
      { id: 'last', uses: 'working' },
    ],
  },
];
