// Plugins cannot harm the service: each kind of misbehaviour, and what becomes of the job and of its neighbours.
import { afterEach, describe, expect, it } from 'vitest';
import { encodeMessage } from '../../../../runtime/host/wire/message.ts';
import { emptyBody } from '../../../../runtime/host/wire/outcome.ts';
import { encodeOutcomes, outcomesMessage } from '../../../../runtime/host/wire/outcome-message.ts';
import { pack } from '../../../../runtime/packing.ts';
import { opened } from '../../../service/gateway/sources.ts';
import { clearStages, Stage } from './stage.ts';

afterEach(clearStages);

const quick = 'export const handle = ({ payload }) => ({ result: { payload } })';

describe('A worker plugin', () => {
  it('that heeds the signal at its deadline spares its thread', async () => {
    const code = `import { setTimeout } from 'node:timers/promises';
      globalThis.runs = 0;
      export async function handle({ payload }, { signal }) {
        globalThis.runs++;
        // Longer than any deadline here: only the signal ends it.
        if (payload.wait) await setTimeout(60_000, null, { signal });
        return { result: { runs: globalThis.runs } };
      }`;
    const stage = new Stage(1).plugin('p', code);
    // On a busy machine the thread may heed the signal too late and be replaced; then it tries again.
    for (;;) {
      const late = await stage.run('p', { payload: { wait: true }, deadlineMs: 50 });
      expect(late).toMatchObject({ verdict: 'timed_out', permanent: false, error: 'timed out after 50 ms' });
      expect(late.runUs).toBeGreaterThan(49_000);
      if (stage.told.splice(0).some(({ kind }) => kind === 'replaced')) continue;
      expect((await stage.run('p')).result).toEqual({ runs: 2 });
      expect(stage.told.filter(({ kind }) => kind === 'replaced')).toEqual([]);
      return;
    }
  });

  const blocked = [
    ['loops for ever', '() => { for (;;); }'],
    ['never settles', '() => new Promise(() => {})'],
    ['waits for a lock', '() => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) }'],
    ['is late, synchronously', '() => { const end = Date.now() + 90; while (Date.now() < end); }'],
  ] as const;

  it.each(blocked)('that %s is timed out, and the next job runs', async (_, handler) => {
    const stage = new Stage(1).plugin('bad', `export const handle = ${handler}`).plugin('good', quick);
    expect(await stage.run('bad', { deadlineMs: 50 })).toMatchObject({
      verdict: 'timed_out',
      error: 'timed out after 50 ms',
    });
    expect(await stage.run('good', { payload: 1 })).toMatchObject({ verdict: 'ok', result: { payload: 1 } });
    expect(stage.told.filter(({ kind }) => kind === 'lost')).toEqual([]);
  });

  const killed = [
    ['() => process.exit(3)', 'the plugin ended its thread: process.exit(3)'],
    [
      '() => { setImmediate(() => { throw new Error("later") }); return new Promise(() => {}) }',
      'uncaught error: later',
    ],
    ['() => { Promise.reject(new Error("alone")); return new Promise(() => {}) }', 'uncaught error: alone'],
    ['() => { setTimeout(() => { throw null }); return new Promise(() => {}) }', 'uncaught error: null'],
    ['() => { Buffer.from = null; throw new Error("own") }', 'uncaught error: Buffer.from is not a function'],
  ] as const;

  it('that costs thread after thread leaves others the one that has their code', async () => {
    const threadOf = `import { threadId } from 'node:worker_threads'; export const handle = () => ({ result: { threadId } })`;
    // One thread, and the spare one.
    const stage = new Stage(1).plugin('bad', 'export const handle = () => process.exit(3)').plugin('good', threadOf);
    const { result } = await stage.run('good');
    for (let time = 0; time < 5; time++) {
      expect(await stage.run('bad')).toMatchObject({
        verdict: 'error',
        error: 'the plugin ended its thread: process.exit(3)',
      });
      // This second job waits for the next spare thread.
      await stage.run('bad');
      expect((await stage.run('good')).result).toEqual(result);
    }
  });

  it.each(killed)('whose thread dies of %s has failed, and its neighbours run', async (handler, error) => {
    const code = `const bad = ${handler}; export const handle = ({ payload }) => payload === 'bad' ? bad() : { result: payload }`;
    const stage = new Stage(1).plugin('p', code);
    const { outcomes, returned } = await stage.frameUntil(
      'p',
      { payloads: ['before', 'bad', 'after', 'last'] },
      end => end.outcomes.length === 2,
    );
    expect(outcomes.map(({ verdict, result }) => result ?? verdict)).toEqual(['before', 'error']);
    expect(outcomes[1]).toMatchObject({ task: 1, error, permanent: false });
    expect(returned).toEqual([2, 3]);
    await stage.heard('replaced', new RegExp(error.replaceAll(/[()]/g, '.')));
    expect((await stage.run('p', { payload: 'next' })).result).toBe('next');
  });

  it('that crashes while idle costs nobody anything', async () => {
    // Throws by a timer, after the answer has left the thread. The test waits until the death of the thread is reported.
    const code = 'export const handle = () => { setTimeout(() => { throw new Error("afterwards") }, 1) }';
    const stage = new Stage(1).plugin('bad', code).plugin('good', quick);
    expect(await stage.run('bad')).toMatchObject({ verdict: 'ok' });
    await stage.heard('replaced', /^uncaught error: afterwards/);
    expect(await stage.run('good')).toMatchObject({ verdict: 'ok' });
  });

  it('that runs out of memory takes down its thread, or its host, and no more', async () => {
    const code = 'export const handle = () => { const all = []; for (;;) all.push(Array(1e6).fill(0.5)) }';
    const stage = new Stage(1).plugin('bad', code).plugin('good', quick);
    const { outcomes, lost } = await stage.frame('bad');
    if (lost === null)
      expect(outcomes[0]).toMatchObject({ verdict: 'error', error: expect.stringMatching(/^out of memory/) });
    else expect(lost).toMatch(/the plugin host died/);
    expect(await stage.run('good')).toMatchObject({ verdict: 'ok' });
  });

  it.each([
    ['process.kill(process.pid, "SIGKILL")', /SIGKILL/],
    ['process.kill(process.pid, "SIGSEGV")', /SIGSEGV/],
    ['process.kill(0, "SIGKILL")', /SIGKILL/],
  ])('that kills its host by %s loses its frame, and the host comes back', async (kill, reason) => {
    const stage = new Stage().plugin('bad', `export const handle = () => { ${kill}; for (;;); }`).plugin('good', quick);
    expect((await stage.frame('bad', { payloads: [1, 2] })).lost).toMatch(reason);
    expect(await stage.run('good')).toMatchObject({ verdict: 'ok' });
  });

  it('that cannot be stopped takes its host down', async () => {
    const code = `import { execSync } from 'node:child_process'; export const handle = () => { execSync('sleep 60') }`;
    const stage = new Stage().plugin('bad', code).plugin('good', quick);
    const { lost } = await stage.frame('bad', { deadlineMs: 50 });
    expect(lost).toMatch(/a plugin thread cannot be stopped/);
    expect(await stage.run('good')).toMatchObject({ verdict: 'ok' });
  });

  it('cannot abort its host: threads have no process.abort', async () => {
    const stage = new Stage(1).plugin('p', 'export const handle = () => process.abort()');
    expect(await stage.run('p')).toMatchObject({
      verdict: 'error',
      error: 'process.abort() is not supported in workers',
    });
  });

  const fine = encodeOutcomes([{ task: 0, verdict: 'ok', permanent: false, startedUs: 1, runUs: 1, body: emptyBody }]);
  const garbage = [
    ['of no kind', Buffer.from([1, 0, 0, 0, 99, 0])],
    ['without end', Buffer.from([255, 255, 255, 255, 4])],
    ['a log line', encodeMessage('log', pack(['info', 'forged', {}]))],
    ['an outcome of its own', Buffer.concat(outcomesMessage(1, fine))],
  ] as const;

  it.each(garbage)('that writes to the service itself, %s, loses its host', async (_, bytes) => {
    const code = `import { writeSync } from 'node:fs';
      export const handle = ({ payload }) => { if (payload.writes) { writeSync(4, Buffer.from([${[...bytes]}])); for (;;); } };`;
    const stage = new Stage(1).plugin('p', code);
    const { lost } = await stage.frame('p', { payload: { writes: true } });
    expect(lost).toMatch(/^the plugin host died \(SIGKILL\), which sent the service an invalid message: /);
    expect(await stage.run('p')).toMatchObject({ verdict: 'ok' });
  });

  it('cannot speak to its host as its thread does, nor close its mouth', async () => {
    const code = `import * as threads from 'node:worker_threads'; import { createRequire } from 'node:module';
      export function handle() {
        const ports = [threads.parentPort, createRequire(import.meta.url)('node:worker_threads').parentPort];
        for (const port of ports) {
          port?.postMessage({ frameId: 1, written: new Uint8Array(5) });
          port?.close();
        }
        // A result that does not fit into the memory of the frame.
        return { result: 'x'.repeat(100_000) };
      }`;
    const stage = new Stage(1).plugin('p', code);
    for (let time = 0; time < 2; time++) expect((await stage.run('p')).result).toHaveLength(100_000);
  });

  it.each([['process.ppid'], ['1'], ['-1'], ['-process.ppid']])('may not kill %s', async pid => {
    const stage = new Stage(1).plugin('p', `export const handle = () => { process.kill(${pid}, 0) }`);
    expect(await stage.run('p')).toMatchObject({ verdict: 'error', error: expect.stringMatching(/^kill EPERM/) });
  });

  it.each([
    ['process.pid', '"SIGSTOP"'],
    ['0', 'constants.signals.SIGSTOP'],
    ['-process.pid', '"SIGSTOP"'],
  ])('may not stop its host by process.kill(%s, %s)', async (pid, signal) => {
    const code = `import { constants } from 'node:os'; export const handle = () => { process.kill(${pid}, ${signal}) }`;
    expect(await new Stage(1).plugin('p', code).run('p')).toMatchObject({
      error: expect.stringMatching(/^kill EPERM/),
    });
  });

  it('may kill its own children', async () => {
    const code = `import { spawn } from 'node:child_process'; import { once } from 'node:events';
      export async function handle() {
        const child = spawn('sleep', ['60']);
        process.kill(child.pid, 'SIGTERM');
        return { result: (await once(child, 'exit'))[1] };
      }`;
    expect(await new Stage(1).plugin('p', code).run('p')).toMatchObject({ verdict: 'ok', result: 'SIGTERM' });
  });

  it('may print what it likes', async () => {
    const code = `import { writeSync } from 'node:fs';
      export function handle() {
        console.log('to the log'); console.error('errors too');
        writeSync(1, 'past the console'); writeSync(2, 'x');
        for (let i = 0; i < 5000; i++) console.log('flood', i);
      }`;
    const stage = new Stage(1).plugin('p', code);
    expect(await stage.run('p')).toMatchObject({ verdict: 'ok' });
    await stage.heard('log', /debug plugin output .*to the log/);
    await stage.heard('log', /debug plugin output .*errors too/);
    await stage.heard('log', /cut_lines/);
    expect(stage.told.filter(({ text }) => text === 'debug plugin output').length).toBeLessThan(500);
  });
});

it('has a last printed line without a line end in the log once the host stops', async () => {
  const stage = new Stage(1).plugin('p', `export const handle = () => { process.stdout.write('no line end'); };`);
  expect(await stage.run('p')).toMatchObject({ verdict: 'ok' });
  await stage.host.stop(0);
  await stage.heard('log', /debug plugin output .*no line end/);
});

describe('A slow task', () => {
  // Takes 300 ms for `slow`; the tests wait for its outcome.
  const code = `export const handle = ({ payload }) =>
    payload === 'slow' ? new Promise(resolve => setTimeout(resolve, 300)) : { result: payload }`;

  /** A handler that waits for a file beside its code. */
  const gated = `import { existsSync, watch } from 'node:fs';
    ${opened}
    export const handle = () => opened(import.meta.dirname, 'gate');`;

  it('sends back those behind it in its frame, and those before it are told at once', async () => {
    const stage = new Stage(1).plugin('p', code);
    await stage.run('p');
    let first = stage.told.length;
    const job = { payloads: ['a', 'b', 'slow', 'd', 'e'] };
    const { outcomes, returned } = await stage.frameUntil('p', job, end => {
      if (end.outcomes.length === 3) return true;
      first = stage.told.length;
      return false;
    });
    expect(returned).toEqual([3, 4]);
    expect(outcomes.map(({ task }) => task)).toEqual([0, 1, 2]);
    // The first two outcomes came in a message of their own, before the slow task ended.
    expect(stage.told.slice(first).filter(({ kind }) => kind === 'outcomes')).toHaveLength(2);
  });

  it('sends back frames that wait when all threads are slow', async () => {
    const stage = new Stage(2).plugin('p', gated);
    const slow = [stage.frame('p'), stage.frame('p')];
    const waiting = await stage.frame('p', { payloads: ['x', 'y'] });
    expect(waiting).toEqual({ outcomes: [], returned: [0, 1], begun: [], lost: null });
    stage.write('p', 'gate', '');
    for (const { outcomes } of await Promise.all(slow)) expect(outcomes[0]!.verdict).toBe('ok');
  });

  it('is not what many quick ones are: a long frame is told bit by bit, and goes on', async () => {
    const busy = 'export const handle = () => { const end = performance.now() + 1; while (performance.now() < end); }';
    const stage = new Stage(1).plugin('p', busy);
    const { returned } = await stage.whole('p', { payloads: Array(300).fill(0) });
    expect(returned).toEqual([]);
    expect(stage.told.filter(({ kind }) => kind === 'outcomes').length).toBeGreaterThan(1);
  });

  it('does not hold up another thread', async () => {
    const stage = new Stage(2).plugin('slow', gated).plugin('p', quick);
    const slow = stage.frame('slow');
    expect((await stage.run('p', { payload: 'quick' })).result).toEqual({ payload: 'quick' });
    stage.write('slow', 'gate', '');
    await slow;
  });
});
