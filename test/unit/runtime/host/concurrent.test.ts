// Frames whose tasks are under way together in one thread: each gets its own outcome, and how one task affects the others.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { JsonObject } from '../../../../runtime/packing.ts';
import { until } from '../../../service/gateway/until.ts';
import { clearStages, concurrentStage, type Ended, Stage } from './stage.ts';

afterEach(clearStages);

/** `meet(count)` waits until `count` tasks are under way in the thread. */
const together = `
  const underWay = new Set();
  const meet = count => new Promise(go => {
    underWay.add(go);
    if (underWay.size === count) for (const each of [...underWay]) { underWay.delete(each); each(); }
  });
`;
const byTask = (outcomes: readonly Ended[]) => [...outcomes].sort((a, b) => a.task - b.task);
const many = (count: number, payload: JsonObject = {}) => Array.from({ length: count }, () => payload);

it('has all tasks under way at once, each with its own log, events, spans and state', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `${together}
    export const handle = async ({ payload, state }, { log, emit, span }) => {
      const end = span('met ' + payload.n);
      log('info', 'before ' + payload.n);
      await meet(3);
      log('info', 'after ' + payload.n);
      emit({ type: 'met.' + payload.n });
      end();
      return { result: { n: payload.n, seen: state.seen }, state_updates: { seen: payload.n } };
    };`,
  );
  const { outcomes } = await stage.frame('p', {
    payloads: [{ n: 0 }, { n: 1 }, { n: 2 }],
    state: { seen: 'committed' },
  });
  for (const { task: n, ...said } of byTask(outcomes)) {
    expect(said).toMatchObject({
      verdict: 'ok',
      result: { n, seen: 'committed' },
      state_updates: { seen: n },
      logs: [{ message: `before ${n}` }, { message: `after ${n}` }],
      events: [{ type: `met.${n}` }],
      spans: [{ name: `met ${n}` }],
    });
  }
  expect(outcomes).toHaveLength(3);
});

it('puts further frames of a runner into the same thread, and those of another into another', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `import { threadId } from 'node:worker_threads'; ${together}
    export const handle = async ({ payload }) => { await meet(payload.count); return { result: { threadId } }; };`,
  );
  const ends = await Promise.all([
    stage.frame('p', { payloads: many(2, { count: 3 }), concurrency: 8 }),
    stage.frame('p', { payloads: many(1, { count: 3 }), concurrency: 8 }),
    stage.frame('p', { payloads: many(2, { count: 2 }), concurrency: 8, runner: 1 }),
  ]);
  const [first, second, third] = ends.map(({ outcomes }) => (outcomes[0]!.result as { threadId: number }).threadId);
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

it('never has more under way than `concurrency` says', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `let underWay = 0;
    export const handle = async () => {
      const now = ++underWay;
      await new Promise(go => setTimeout(go, 2));
      underWay--;
      return { result: { now } };
    };`,
  );
  const { outcomes } = await stage.frame('p', { payloads: many(40), concurrency: 4 });
  expect(Math.max(...outcomes.map(({ result }) => (result as { now: number }).now))).toBe(4);
});

it('replaces a thread with a task that does not settle once its neighbours have ended; new frames go to another', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `import { threadId } from 'node:worker_threads';
    export const handle = async ({ payload }) => {
      if (payload.never) await new Promise(() => {});
      if (payload.waitMs) await new Promise(go => setTimeout(go, payload.waitMs));
      return { result: { threadId } };
    };`,
  );
  const neighbour = stage.frame('p', { payloads: [{ waitMs: 600 }], concurrency: 8 });
  const never = await stage.frame('p', { payloads: [{ never: true }], deadlineMs: 50, concurrency: 8 });
  expect(never.outcomes).toMatchObject([{ verdict: 'timed_out' }]);
  const oldThread = ((await neighbour).outcomes[0]!.result as { threadId: number }).threadId;
  await stage.heard('replaced', /did not end after its deadline or cancel/);
  const next = await stage.frame('p', { payloads: [{}], concurrency: 8 });
  expect((next.outcomes[0]!.result as { threadId: number }).threadId).not.toBe(oldThread);
});

it('charges nobody where it is not known who blocks the thread', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `export const handle = async ({ payload }) => { await null; if (payload.blocks) for (;;); await new Promise(() => {}); };`,
  );
  const { outcomes, begun } = await stage.frame('p', { payloads: [{ blocks: true }, {}, {}], deadlineMs: 100 });
  expect([outcomes, begun]).toEqual([[], [0, 1, 2]]);
});

const throws = [
  ['in a timer', `setTimeout(() => { throw new Error('later') }, 5); await never`, 'uncaught error: later'],
  ['in a promise', `Promise.reject(new Error('alone')); await never`, 'uncaught error: alone'],
  ['by process.exit', `await null; process.exit(3)`, 'the plugin ended its thread: process.exit(3)'],
] as const;

it.each(throws)('charges the task that ends the thread %s, and gives its neighbours back', async (_, code, error) => {
  const stage = concurrentStage().plugin(
    'p',
    `const never = new Promise(() => {}); export const handle = async ({ payload }) => { if (payload.ends) { ${code} } await never; };`,
  );
  const { outcomes, begun } = await stage.frame('p', { payloads: [{}, { ends: true }, {}] });
  expect(outcomes).toMatchObject([{ task: 1, verdict: 'error', error }]);
  expect(begun).toEqual([0, 2]);
});

it('charges nobody for what a task throws after its answer', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `export const handle = async ({ payload }) => {
      if (payload.ends) setTimeout(() => { throw new Error('later') }, 5); else await new Promise(() => {});
    };`,
  );
  const { outcomes, begun } = await stage.frame('p', { payloads: [{}, { ends: true }, {}] });
  expect(outcomes).toMatchObject([{ task: 1, verdict: 'ok' }]);
  expect(begun).toEqual([0, 2]);
});

it('charges the task that takes all memory, and names the limit', async () => {
  // With this many threads, each gets the least memory, 64 MiB.
  const stage = new Stage(100_000, [], undefined, true).plugin(
    'p',
    `export const handle = async ({ payload }) => {
      if (payload.grows) for (const all = [];;) all.push(new Array(1e6).fill(0.5));
      await new Promise(() => {});
    };`,
  );
  const { outcomes, begun } = await stage.frame('p', { payloads: [{}, { grows: true }] });
  expect(outcomes).toMatchObject([
    { task: 1, verdict: 'error', error: 'out of memory: a plugin thread may use 64 MiB' },
  ]);
  expect(begun).toEqual([0]);
});

it('refuses payloads that break the schema, and fails all when the code cannot be loaded', async () => {
  const schema = { type: 'object', required: ['n'] };
  const stage = concurrentStage()
    .plugin('p', 'export const handle = async () => {};', { commands: { handle: { inputSchema: schema } } })
    .plugin('broken', `throw new Error('not today');`);
  const { outcomes } = await stage.frame('p', { payloads: [{}, { n: 1 }] });
  expect(byTask(outcomes)).toMatchObject([{ verdict: 'error', permanent: true }, { verdict: 'ok' }]);
  const broken = await stage.frame('broken', { payloads: [{}, {}] });
  expect(broken.outcomes).toMatchObject(many(2, { verdict: 'error', error: 'index.mjs cannot be loaded: not today' }));
});

it('gives each task that throws its own stack, with the secrets masked', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `export const handle = ({ payload, secrets }) => payload.isLater ? later() : now(secrets.key);
    async function later() { await null; throw new RangeError('later'); }
    function now(key) { throw new Error(key); }`,
  );
  const { outcomes } = await stage.frame('p', {
    payloads: [{}, { isLater: true }],
    secrets: { key: 'open-sesame' },
  });
  expect(byTask(outcomes)).toMatchObject([
    { stderr: expect.stringMatching(/^Error: \[SECRET:key\]\n {4}at now \(index.mjs:3:31\)\n {4}at handle /) },
    { stderr: expect.stringMatching(/^RangeError: later\n {4}at later \(index.mjs:2:48\)\n/) },
  ]);
});

it('masks the secrets of each frame', async () => {
  const stage = concurrentStage().plugin('p', 'export const handle = async ({ secrets }) => ({ result: secrets });');
  const { outcomes } = await stage.frame('p', { payloads: [{}, {}], secrets: { key: 'open-sesame' } });
  expect(outcomes.map(({ result }) => result)).toEqual(many(2, { key: '[SECRET:key]' }));
});

it('masks in each outcome all secrets that the thread was given: its tasks share the variables of the module', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `let newest;
    let wake;
    const woken = new Promise(go => { wake = go; });
    export const handle = async ({ payload, secrets }) => {
      if (payload.waits) { await woken; return { result: { newest } }; }
      newest = secrets.key;
      wake();
    };`,
  );
  const [first] = await Promise.all([
    stage.frame('p', { payloads: [{ waits: true }], secrets: { key: 'the-one-before' }, concurrency: 4 }),
    stage.frame('p', { payloads: [{}], secrets: { key: 'the-one-after' }, concurrency: 4 }),
  ]);
  expect(first.outcomes).toMatchObject([{ result: { newest: '[SECRET:key]' } }]);
});

const unreadable = `new Proxy({}, { ownKeys() { throw new Error('not for you') } })`;
const answers = [
  ['whose then throws', `({ get then() { throw new Error('not for you') } })`],
  ['that cannot be looked at', unreadable],
  ['that cannot be looked at, by and by', `Promise.resolve(${unreadable})`],
] as const;

it.each(answers)('fails the task with an answer %s, and no other', async (_, answer) => {
  const stage = concurrentStage().plugin(
    'p',
    `${together} export const handle = ({ payload }) => payload.odd ? ${answer} : meet(2);`,
  );
  const { outcomes } = await stage.frame('p', { payloads: [{}, { odd: true }, {}] });
  expect(byTask(outcomes)).toMatchObject([
    { verdict: 'ok' },
    { verdict: 'error', error: 'not for you' },
    { verdict: 'ok' },
  ]);
});

it('charges nobody for an error that the plugin handled', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `process.on('uncaughtException', () => {});
    export const handle = async ({ payload }) => {
      if (payload.throws) setTimeout(() => { throw new Error('handled') }, 1);
      // The thread shows that it runs on, every 50 ms, before it blocks, even if it is held up for longer once.
      for (let n = 0; n < 4; n++) await new Promise(go => setTimeout(go, 60));
      if (payload.blocks) for (;;);
      await new Promise(() => {});
    };`,
  );
  const payloads = [{ throws: true }, { blocks: true }];
  const { outcomes, begun } = await stage.frame('p', { payloads, deadlineMs: 500 });
  expect([outcomes, begun]).toEqual([[], [0, 1]]);
});

it('a task that is cancelled while the code loads is returned at once; its neighbours run when the code is loaded', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `import { existsSync, watch, writeFileSync } from 'node:fs';
    const home = import.meta.dirname;
    await new Promise(go => {
      const watcher = watch(home, () => existsSync(home + '/go') && (watcher.close(), go()));
      writeFileSync(home + '/loading', '');
    });
    export const handle = ({ payload }) => ({ result: payload });`,
  );
  const ended = stage.frame('p', { payloads: [{ n: 0 }, { n: 1 }] });
  await until('the code loads', () => existsSync(join(stage.directory, 'plugins/p/loading')));
  await stage.cancel(0);
  await stage.heard('returned', /./);
  stage.write('p', 'go', '');
  const { outcomes, returned, begun } = await ended;
  expect(outcomes).toMatchObject([{ task: 1, verdict: 'ok', result: { n: 1 } }]);
  expect([returned, begun]).toEqual([[0], []]);
});

it('a thread whose tasks were all cancelled while its code loads is ended, and the next frame gets another', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `import { existsSync, writeFileSync } from 'node:fs';
    const loading = import.meta.dirname + '/loading';
    if (!existsSync(loading)) {
      writeFileSync(loading, '');
      await new Promise(() => {});
    }
    export const handle = ({ payload }) => ({ result: payload });`,
  );
  const ended = stage.frame('p', { payloads: [{ n: 0 }] });
  await until('the code loads', () => existsSync(join(stage.directory, 'plugins/p/loading')));
  await stage.cancel(0);
  expect(await ended).toMatchObject({ outcomes: [], returned: [0], begun: [] });
  const { outcomes } = await stage.frame('p', { payloads: [{ n: 1 }] });
  expect(outcomes).toMatchObject([{ task: 0, verdict: 'ok', result: { n: 1 } }]);
});

it('a task that is cancelled while another one blocks the thread is returned at once, and never runs', async () => {
  const stage = concurrentStage().plugin(
    'p',
    `import { existsSync, writeFileSync } from 'node:fs';
    const home = import.meta.dirname;
    export const handle = ({ payload }) => {
      writeFileSync(home + '/' + payload.name, '');
      while (payload.blocks && !existsSync(home + '/go'));
    };`,
  );
  const file = (name: string) => join(stage.directory, 'plugins/p', name);
  const blocking = stage.frame('p', { payloads: [{ name: 'blocking', blocks: true }], concurrency: 2 });
  await until('the thread is blocked', () => existsSync(file('blocking')));
  const cancelled = stage.frame('p', { payloads: [{ name: 'cancelled' }], concurrency: 2 });
  await stage.cancel(0);
  expect(await cancelled).toMatchObject({ outcomes: [], returned: [0], begun: [] });
  stage.write('p', 'go', '');
  expect((await blocking).outcomes).toMatchObject([{ verdict: 'ok' }]);
  await stage.frame('p', { payloads: [{ name: 'next' }], concurrency: 2 });
  expect(['cancelled', 'next'].map(name => existsSync(file(name)))).toEqual([false, true]);
});
