// Persistent processes with many requests at once: which answer belongs to which request, and how one request affects the others.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { ConcurrentProcesses } from '../../../../runtime/host/process/concurrent-processes.ts';
import type { HostSender } from '../../../../runtime/host/process/host-sender.ts';
import { killDelayMs } from '../../../../runtime/host/process/program.ts';
import { encodeFrame } from '../../../../runtime/host/wire/frame.ts';
import { MessageReader } from '../../../../runtime/host/wire/message.ts';
import { bodyPart } from '../../../../runtime/host/wire/outcome.ts';
import type { HostedPlugin, Outcome, PersistentMode } from '../../../../runtime/host/wire/plugin-host.ts';
import { type JsonObject, pack, packedEmpty } from '../../../../runtime/packing.ts';
import { ProgramPids } from '../../../../runtime/processes/program-pids.ts';
import { until } from '../../../service/gateway/until.ts';
import { clearStages, concurrentStage, type Ended, type Stage } from './stage.ts';

afterEach(clearStages);

/** A program that runs `body` for each request; `underWay` counts unanswered requests. */
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
  const stage = staged(`
    const { existsSync, watch } = require('node:fs');
    if (!payload.late) return answer(request);
    const watcher = watch('.', () => existsSync('now') && (watcher.close(), answer(request)));
  `);
  // Starts the process first, so that its start does not count against the deadline under test.
  await stage.run('p', { ...poll, payloads: [{}] });
  const { outcomes } = await stage.frame('p', { ...poll, payloads: [{ late: true }, {}], deadlineMs: 4_000 });
  expect(byTask(outcomes)).toMatchObject([
    { verdict: 'timed_out', error: 'timed out after 4000 ms' },
    { verdict: 'ok' },
  ]);
  const next = stage.run('p', { ...poll, payloads: [{}], concurrency: 1 });
  // This request waits until the late one has been answered.
  stage.write('p', 'now', '');
  expect((await next).verdict).toBe('ok');
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
  // A host that was held up may read the answer of the neighbour before it notices that the other one is overdue.
  const pidOf = ({ result }: Ended) => (result as { pid: number }).pid;
  const next = () => stage.run('p', { ...poll, concurrency: 8 });
  await until('another process answers', async () => pidOf(await next()) !== pidOf(before));
});

it('charges the only request that a process died with; of several each runs alone', async () => {
  const stage = staged(`if (payload.dies) { console.error('last words'); process.exit(payload.dies); }`);
  const single = await stage.frame('p', { ...poll, payloads: [{ dies: 78 }] });
  expect(single.outcomes).toMatchObject([
    {
      verdict: 'error',
      permanent: true,
      error: 'the process ended (exit status 78) without an answer: last words',
      stderr: 'last words\n',
    },
  ]);
  const several = await stage.frame('p', { ...poll, payloads: [{}, {}, { dies: 3 }] });
  expect([several.outcomes, several.begun]).toEqual([[], [0, 1, 2]]);
});

it('kills a process that says what is no answer', async () => {
  const stage = staged(`console.log('hello');`);
  const { outcomes } = await stage.frame('p', { ...poll, payloads: [{}] });
  expect(outcomes).toMatchObject([{ verdict: 'error', error: expect.stringMatching(/^a line on stdout is not JSON/) }]);
});

it('lets a process go after max_jobs, and asks the rest of another', async () => {
  const stage = staged(`setTimeout(() => answer(request, { result: { pid: process.pid } }), 1);`, { jobsMax: 3 });
  const { outcomes, returned, begun } = await stage.frame('p', { ...poll, payloads: many(5) });
  expect([outcomes.length, returned.length, begun]).toEqual([3, 2, []]);
  const next = await stage.frame('p', { ...poll, payloads: many(2) });
  const pids = [...outcomes, ...next.outcomes].map(({ result }) => (result as { pid: number }).pid);
  expect(new Set(pids).size).toBe(2);
});

it('charges no request for what a process says after the answers of those before', async () => {
  // One write for answer and garbage: between two writes, the next request could already be sent.
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
  const { outcomes, returned, begun } = await stage.frame('p', { ...poll, payloads: many(3), concurrency: 1 });
  expect(outcomes).toMatchObject([{ task: 0, verdict: 'ok' }]);
  expect([returned, begun]).toEqual([[1, 2], []]);
});

const echo = 'answer(request, { result: payload });';

/** Controls the processes of one plugin from this process, and records what they report. */
class Processes {
  readonly returned: (readonly [task: number, end: number])[] = [];
  readonly #stage = concurrentStage();
  readonly outcomes: Promise<readonly Outcome[]>;
  /** The number of outcomes so far. */
  ended = 0;
  readonly #processes: ConcurrentProcesses;

  constructor(more: Partial<HostedPlugin>, body = echo) {
    this.#stage.plugin('p', script(body), { persistent, ...more });
    const sender: Partial<HostSender> = { returned: (_, task, end) => void this.returned.push([task, end]), log() {} };
    this.outcomes = new Promise(resolve => {
      sender.outcomes = (_, outcomes) => {
        this.ended += outcomes.length;
        resolve(outcomes);
      };
    });
    const { directory } = this.#stage;
    this.#processes = new ConcurrentProcesses(
      new ProgramPids(directory, 'test', randomUUID()),
      directory,
      sender as HostSender,
    );
    this.#processes.retire(this.#stage.plugins);
    onTestFinished(() => this.#processes.kill());
  }

  get idle(): boolean {
    return this.#processes.idle;
  }

  /** The directory of the plugin, in which its processes run. */
  get directory(): string {
    return this.#stage.plugins[0]!.directory;
  }

  /** Submits a frame with two tasks, and cancels one of them in the same turn of the event loop. */
  cancelOf(task: number): void {
    this.submit();
    this.cancel(1, task);
  }

  cancel(frameId: number, task: number): void {
    this.#processes.cancel(frameId, task, 'cancelled');
  }

  /** Submits a frame with two tasks, and stops in the same turn of the event loop. */
  stop(): void {
    this.submit();
    this.#processes.returnUnstarted();
  }

  submit({ frameId, count } = { frameId: 1, count: 2 }): void {
    const group = { count, context: packedEmpty, pipeline: null, stepId: null, depth: 0, event: null, createdUs: 0 };
    const { head } = encodeFrame(
      {
        ...{ frameId, instance: 'p', command: 'poll', deadlineMs: 20_000, runner: 0, concurrency: 2 },
        ...{ state: packedEmpty, groups: [group], ids: new Uint8Array(16 * count) },
        ...{ attempts: Array<number>(count).fill(1), payloads: Array<Uint8Array>(count).fill(pack({})) },
      },
      1,
      0,
    );
    new MessageReader((_, body) => this.#processes.submit(body, this.#stage.plugins[0]!)).push(Buffer.from(head));
  }
}

it.each([
  ['its payload waits for the schema check', { commands: { poll: { inputSchema: { type: 'object' } } } }, 'ok'],
  ['its process is starting', {}, 'ok'],
  ['its process is starting, in vain', { digests: { main: 'of another file' } }, 'error'],
])('a task that is cancelled while %s is returned at once, and never runs', async (_, more, verdict) => {
  const processes = new Processes(more as Partial<HostedPlugin>);
  processes.cancelOf(0);
  expect(processes.returned).toEqual([[0, 1]]);
  expect(await processes.outcomes).toMatchObject([{ task: 1, verdict }]);
  expect(processes.returned).toHaveLength(1);
});

it.each([
  ['their payloads wait for the schema check', { commands: { poll: { inputSchema: { type: 'object' } } } }],
  ['their process is starting', {}],
])('tasks go back at once if the host stops while %s, and never run', async (_, more) => {
  const processes = new Processes(more as Partial<HostedPlugin>);
  processes.stop();
  expect(processes.returned).toEqual([[0, 2]]);
  await expect.poll(() => processes.idle).toBe(true);
  expect([processes.returned.length, processes.ended]).toEqual([1, 0]);
});

it('is not idle before the tasks of an ended process are reported', async () => {
  const processes = new Processes({}, 'if (underWay === 2) process.exit(3);');
  processes.submit();
  while (!processes.idle) await new Promise(setImmediate);
  expect(processes.returned).toEqual([[0, 2]]);
});

it('asks nothing of a process that is stopped because it did not answer a cancel', async () => {
  const code = `if (request.cancel !== undefined) return;
    if (!require('node:fs').existsSync('asked')) require('node:fs').writeFileSync('asked', '');
    else answer(request);`;
  const processes = new Processes({ persistent: { ...persistent, hearsCancel: true } }, code);
  processes.submit({ frameId: 1, count: 1 });
  await until('it is asked', () => existsSync(join(processes.directory, 'asked')));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  processes.cancel(1, 0);
  vi.advanceTimersByTime(killDelayMs);
  vi.useRealTimers();
  // From now on the process is being stopped.
  processes.submit({ frameId: 2, count: 1 });
  const [{ verdict, body }] = (await processes.outcomes) as [Outcome];
  expect([verdict, Buffer.from(bodyPart(body, 'error')!).toString()]).toEqual(['error', 'cancelled']);
  expect(processes.returned).toEqual([[0, 1]]);
  processes.submit({ frameId: 3, count: 1 });
  await until('another process answers', () => processes.ended === 2);
});

it('stops a cancelled task whose process takes no more tasks', async () => {
  const stage = staged('', { jobsMax: 1 });
  const ended = stage.frame('p', { ...poll, payloads: many(2) });
  // The second task was returned, so the process has got its only request.
  await stage.heard('returned', /^1 /);
  await stage.cancel(0, 'cancelled by somebody');
  const { outcomes } = await ended;
  expect(outcomes).toMatchObject([{ task: 0, verdict: 'error', error: 'cancelled by somebody' }]);
});
