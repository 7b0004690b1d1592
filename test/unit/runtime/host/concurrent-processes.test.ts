// Persistent processes that are asked many requests at once: whose answer is whose, and what one request can cost the others.
import { afterEach, expect, it } from 'vitest';
import type { PersistentMode } from '../../../../runtime/host/wire/plugin-host.ts';
import type { JsonObject } from '../../../../runtime/packing.ts';
import { clearStages, concurrentStage, type Ended, type Stage } from './stage.ts';

afterEach(clearStages);

/** `on(request, answer)` is called for each request; \`underWay\` counts those that are not answered. */
const script = (body: string) => `#!/usr/bin/env node
let underWay = 0;
const answer = ({ id }, more) => { underWay--; process.stdout.write(JSON.stringify({ id, status: 'ok', ...more }) + '\\n'); };
const all = [];
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const request = JSON.parse(line);
  const payload = request.event?.payload ?? request.payload;
  underWay++;
  all.push(request);
  ${body}
});
`;
const persistent: PersistentMode = { jobsMax: null, ageMs: null, pipelined: true };
const staged = (body: string, mode: Partial<PersistentMode> = {}): Stage =>
  concurrentStage().plugin('p', script(body), { persistent: { ...persistent, ...mode } });
const many = (count: number, payload: JsonObject = {}) => Array.from({ length: count }, () => payload);
const byTask = (outcomes: readonly Ended[]) => [...outcomes].sort((a, b) => a.task - b.task);
const poll = { command: 'poll' };

it('asks all at once, and matches answers that come in another order', async () => {
  const stage = staged(
    `if (all.length === 20) for (const one of all.splice(0).reverse()) answer(one, { result: { n: one.payload.n } });`,
  );
  const payloads = Array.from({ length: 20 }, (_, n) => ({ n }));
  const { outcomes } = await stage.frame('p', { ...poll, payloads });
  expect(byTask(outcomes).map(({ result }) => result)).toEqual(payloads);
});

it('has never more than `concurrency` requests without an answer', async () => {
  const stage = staged(`const now = underWay; setTimeout(() => answer(request, { result: { now } }), 3);`);
  const { outcomes } = await stage.frame('p', { ...poll, payloads: many(30), concurrency: 4 });
  expect(Math.max(...outcomes.map(({ result }) => (result as { now: number }).now))).toBe(4);
});

it('tells each outcome at its deadline, and drops the late answer', async () => {
  const stage = staged('setTimeout(() => answer(request), payload.late ? 330 : 1);');
  const { outcomes } = await stage.frame('p', { ...poll, payloads: [{ late: true }, {}], deadlineMs: 300 });
  expect(byTask(outcomes)).toMatchObject([
    { verdict: 'timed_out', error: 'timed out after 300 ms' },
    { verdict: 'ok' },
  ]);
  // It waits for the place of the late one.
  expect((await stage.run('p', { ...poll, payloads: [{}], concurrency: 1 })).verdict).toBe('ok');
  expect(stage.told.filter(({ text }) => text.includes('crashed'))).toEqual([]);
});

it('replaces a process that owes an answer once the others have come', async () => {
  const stage = staged(
    `if (!payload.never) setTimeout(() => answer(request, { result: { pid: process.pid } }), payload.waitMs ?? 1);`,
  );
  const neighbour = stage.frame('p', { ...poll, payloads: [{ waitMs: 700 }], concurrency: 8 });
  const never = await stage.frame('p', { ...poll, payloads: [{ never: true }], deadlineMs: 50, concurrency: 8 });
  expect(never.outcomes).toMatchObject([{ verdict: 'timed_out' }]);
  const before = (await neighbour).outcomes[0]!;
  expect(before.verdict).toBe('ok');
  const after = (await stage.frame('p', { ...poll, payloads: [{}], concurrency: 8 })).outcomes[0]!;
  expect((after.result as { pid: number }).pid).not.toBe((before.result as { pid: number }).pid);
});

it('charges the only request that a process died with; of several each runs alone', async () => {
  const stage = staged(`if (payload.dies) { console.error('last words'); process.exit(payload.dies); }`);
  const single = await stage.frame('p', { ...poll, payloads: [{ dies: 78 }] });
  expect(single.outcomes).toMatchObject([
    {
      verdict: 'error',
      permanent: true,
      error: 'the process ended (exit status 78) without an answer',
      stderr: 'last words\n',
    },
  ]);
  const several = await stage.frame('p', { ...poll, payloads: [{}, {}, { dies: 3 }] });
  expect([several.outcomes, several.alone]).toEqual([[], [0, 1, 2]]);
});

it('kills a process that says what is no answer', async () => {
  const stage = staged(`console.log('hello');`);
  const { outcomes } = await stage.frame('p', { ...poll, payloads: [{}] });
  expect(outcomes).toMatchObject([{ verdict: 'error', error: expect.stringMatching(/^a line on stdout is not JSON/) }]);
});

it('lets a process go after max_jobs, and asks the rest of another', async () => {
  const stage = staged(`setTimeout(() => answer(request, { result: { pid: process.pid } }), 1);`, { jobsMax: 3 });
  const { outcomes, returned, alone } = await stage.frame('p', { ...poll, payloads: many(5) });
  expect([outcomes.length, returned.length, alone]).toEqual([3, 2, []]);
  const next = await stage.frame('p', { ...poll, payloads: many(2) });
  const pids = [...outcomes, ...next.outcomes].map(({ result }) => (result as { pid: number }).pid);
  expect(new Set(pids).size).toBe(2);
});

it('charges no request for what a process says after the answers of those before', async () => {
  // One write: between two, the next request may have been asked already.
  const stage = staged(`process.stdout.write(JSON.stringify({ id: request.id, status: 'ok' }) + '\\ngarbage\\n');`);
  for (let i = 0; i < 3; i++) {
    const { outcomes, lost } = await stage.frame('p', { ...poll, payloads: [{}], concurrency: 4 });
    expect([outcomes, lost]).toMatchObject([[{ verdict: 'ok' }], null]);
  }
});

it('asks a process that is gone nothing: what waits goes back as it came', async () => {
  const stage = staged(
    `process.stdout.write(JSON.stringify({ id: request.id, status: 'ok' }), () => process.exit(0));`,
  );
  const { outcomes, returned, alone } = await stage.frame('p', { ...poll, payloads: many(3), concurrency: 1 });
  expect(outcomes).toMatchObject([{ task: 0, verdict: 'ok' }]);
  expect([returned, alone]).toEqual([[1, 2], []]);
});
