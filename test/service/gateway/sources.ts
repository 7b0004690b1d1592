// Sources of plugins that many tests use. They write down each run, and can be held at a gate.

/** Source of `opened(directory, file)`, which resolves once the file is there. It needs `existsSync` and `watch` of node:fs. */
export const opened = `
const opened = (directory, file) => new Promise(pass => {
  const end = () => { watcher.close(); pass(); };
  const watcher = watch(directory, (_, name) => name === file && end());
  if (existsSync(directory + '/' + file)) end();
});
`;

/**
 * What a worker plugin begins with to have `note(request, what)`, which appends a line to the journal of the test, and
 * `gate(name)`, which waits until the test opens the gate of this name.
 */
export const journal = `
import { appendFileSync, existsSync, watch } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
const home = resolve(import.meta.dirname, '../..');
const note = ({ job_id: job, attempt }, what, more) =>
  appendFileSync(home + '/journal', JSON.stringify({ job, attempt, what, ...more }) + '\\n');
${opened}
const gate = name => opened(home, 'gate-' + name);
`;

/** Hands its payload back. */
export const echo = `
export const handle = ({ event }) => ({ result: event.payload });
export const say = ({ payload }) => ({ result: payload });
`;

/** Writes down its start and its end; in between waits for the gate that the payload names, if any. */
export const worker = `${journal}
export async function handle(request) {
  const { payload } = request.event;
  note(request, 'start', { name: payload.name });
  if (payload.gate) await gate(payload.gate);
  note(request, 'end', { name: payload.name });
  return { result: payload };
}
`;

/** Fails as the payload says: its first `times` attempts, for good (`retry: false`), with the error `message`. */
export const failing = `${journal}
export async function handle(request) {
  const { times = Infinity, retry = true, message = 'as asked' } = request.event.payload;
  note(request, 'start');
  if (request.attempt > times) return { result: { attempt: request.attempt } };
  return { status: 'error', error: message, retry };
}
`;

/**
 * A step that obeys the payload of the event: `fail` (for good, with this message), `emit` (these events), `wait` (ms) and `result`. Without
 * `result`, its result is the input that it was given.
 */
export const step = `${journal}
export async function handle(request, { emit }) {
  const { event, context } = request;
  const { payload } = event;
  const orders = { ...payload, ...payload.item };
  note(request, 'start', { step: context.step_id });
  if (orders.wait) await pause(orders.wait);
  for (const one of orders.emit ?? []) emit(one);
  if (orders.fail) return { status: 'error', error: orders.fail, retry: orders.retry ?? false };
  return { result: orders.result ?? { type: event.type, payload, context } };
}
`;
