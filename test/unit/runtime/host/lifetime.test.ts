// Starting, stopping and dying: no process outlives the service, none is left from the service before.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../runtime/clock.ts';
import { identify, isAlive } from '../../../../runtime/processes/identity.ts';
import { until } from '../../../service/gateway/until.ts';
import { builtHost, clearStages, type FrameEnd, Stage } from './stage.ts';

const directories: string[] = [];

afterEach(async () => {
  await clearStages();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

const worker = `import { spawn } from 'node:child_process';
  export const handle = () => {
    const child = spawn('sleep', ['62'], { stdio: 'ignore' });
    console.log('pids', process.pid, child.pid);
    return new Promise(() => {});
  }`;
/** A program whose child leaves the process group. */
const executable = '#!/bin/sh\nsetsid sleep 63 & echo $! > child; echo $$ > self; wait\n';

/** A service in a process of its own, to be killed: with a host, a worker plugin and a process plugin that never end. */
const service = `
  const { Host } = await import(process.argv[1]);
  const { systemClock } = await import(new URL('../../clock.js', process.argv[1]));
  const { mkdirSync, writeFileSync, readFileSync, existsSync } = await import('node:fs');
  const directory = process.argv[2];
  const base = { plugin: 'x', dialect: 'headgate', config: {}, commands: {} };
  const pids = [];
  const listener = { onOutcomes() {}, onReturned() {}, onLost() {}, onThreadReplaced() {}, onCancelling() {} };
  const log = (level, message, fields) => {
    if (fields.line?.startsWith('pids ')) pids.push(...fields.line.split(' ').slice(1).map(Number));
  };
  const host = new Host({ clock: systemClock(), name: 'test', threads: 2, runtimes: ['worker', 'process'], runDirectory: directory + '/run', envPassthrough: [], listener, log });
  host.configure(1, [
    { ...base, instance: 'w', runtime: 'worker', directory, entrypoint: 'worker.mjs' },
    { ...base, instance: 'p', runtime: 'process', directory, entrypoint: 'executable' },
  ]);
  const empty = Uint8Array.of(0x80);
  const group = { count: 1, context: empty, pipeline: null, stepId: null, depth: 0, event: null, createdUs: 0 };
  for (const [frameId, instance] of [[1, 'w'], [2, 'p']]) {
    host.submit({ frameId, instance, command: 'handle', deadlineMs: 60000, state: empty, groups: [group],
      ids: new Uint8Array(16), attempts: [1], payloads: [empty] });
  }
  const timer = setInterval(() => {
    // The executable writes the number of its child first. A file may be there before its content.
    if (pids.length < 2 || !existsSync(directory + '/self') || readFileSync(directory + '/self', 'utf8') === '') return;
    clearInterval(timer);
    for (const file of ['self', 'child']) pids.push(Number(readFileSync(directory + '/' + file, 'utf8')));
    console.log(pids.join(' '));
  }, 5);
`;

async function startService() {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-service-'));
  directories.push(directory);
  writeFileSync(join(directory, 'worker.mjs'), worker);
  writeFileSync(join(directory, 'executable'), executable, { mode: 0o755 });
  const child = spawn(process.execPath, ['--input-type=module', '-e', service, builtHost, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout!, 'data');
  const [host, ...others] = String(line).trim().split(' ').map(Number).map(identify);
  return { directory, child, host: host!, all: [host!, ...others] };
}

describe('A host that dies', () => {
  const paused = /keeps failing to start; next attempt in \d+ ms/;

  it('is started again without a pause, however often, while it came up and had frames', async () => {
    const stage = new Stage(1).plugin('killer', `export const handle = () => process.kill(process.pid, 'SIGKILL');`);
    for (let death = 0; death < 5; death++) expect((await stage.frame('killer')).lost).toContain('SIGKILL');
    expect(stage.told.filter(({ text }) => paused.test(text))).toEqual([]);
  });

  it('before it is up gives back its frames, and is started again after a pause that grows', async () => {
    process.env['NODE_OPTIONS'] = '--no-such-option';
    try {
      const stage = new Stage(1, ['NODE_OPTIONS']).plugin('w', 'export const handle = () => ({})');
      expect(await stage.frame('w')).toEqual({ outcomes: [], returned: [0], begun: [], lost: null });
      for (const ms of [100, 200, 400]) await stage.heard('log', new RegExp(`next attempt in ${ms} ms`));
    } finally {
      delete process.env['NODE_OPTIONS'];
    }
  });
});

describe('When the service is killed', () => {
  it('nothing it has started lives on', async () => {
    const { child, all } = await startService();
    expect(all.map(isAlive)).toEqual([true, true, true, true]);
    child.kill('SIGKILL');
    await until('all are gone', () => !all.some(isAlive));
  });

  it('together with its host, the next one kills what was left before it runs anything', async () => {
    const { child, host, all, directory } = await startService();
    // Neither the host, which is killed first, nor the stopped service can clean up.
    child.kill('SIGSTOP');
    process.kill(host.pid, 'SIGKILL');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const survivor = all[2]!;
    expect(isAlive(survivor)).toBe(true);

    const { Host } = (await import(builtHost)) as typeof import('../../../../runtime/host/client/host.ts');
    let up = (): void => {};
    const ready = new Promise<void>(resolve => {
      up = resolve;
    });
    const listener = { onOutcomes() {}, onReturned() {}, onLost() {}, onThreadReplaced() {}, onCancelling() {} };
    const next = new Host({
      clock: systemClock(),
      // A host of any name cleans up: the one that started these programs may not start at all.
      name: 'other',
      threads: 1,
      runtimes: ['worker'],
      runDirectory: join(directory, 'run'),
      envPassthrough: [],
      listener,
      log: (_, message) => message.endsWith('is up') && up(),
    });
    await ready;
    expect(all.map(isAlive)).toEqual([false, false, false, false]);
    expect(readdirSync(join(directory, 'run'))).toHaveLength(1);
    await next.stop(0);
  });
});

describe('When the host dies', () => {
  it('its process plugins are killed before the loss is told', async () => {
    const stage = new Stage(1)
      .plugin('p', '#!/bin/sh\necho $$ > self; exec sleep 64\n')
      .plugin('killer', 'export const handle = () => process.kill(process.pid, "SIGKILL")');
    const path = join(stage.directory, 'plugins', 'p', 'self');
    const lost = stage.frame('p');
    const plugin = await until('it runs', () => {
      const known = identify(existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0);
      return known.startTicks !== null && known;
    });
    void stage.frame('killer');
    expect((await lost).lost).toMatch(/^the plugin host died \(SIGKILL\)/);
    expect(isAlive(plugin)).toBe(false);
  });
});

describe('A host that the system does not start', () => {
  // Node tells the first fault by an event, and throws the second.
  it.each(['/no/such/node', '/dev/null/node'])('is tried again, and what was submitted waits (%s)', async bad => {
    const { execPath } = process;
    process.execPath = bad;
    const stage = new Stage(1).plugin('w', 'export const handle = () => ({})');
    try {
      const run = stage.run('w');
      await stage.heard('log', /^error the plugin host cannot be started: spawn /);
      process.execPath = execPath;
      expect(await run).toMatchObject({ verdict: 'ok' });
    } finally {
      process.execPath = execPath;
    }
  });
});

describe('A host that is stopped', () => {
  const code = `export const handle = ({ payload }) => new Promise(resolve => setTimeout(resolve, payload))`;

  it('sends back what has not begun, and lets run what has', async () => {
    const gated = `import { existsSync } from 'node:fs';
      const isOpen = () => existsSync(new URL('gate', import.meta.url));
      export const handle = async ({ payload }) => {
        while (payload.waits && !isOpen()) await new Promise(resolve => setTimeout(resolve, 5));
      };`;
    const stage = new Stage(1).plugin('p', gated);
    await stage.run('p');
    stage.told.splice(0);
    const running = stage.frame('p', { payloads: [{ waits: true }, { waits: true }] });
    const waiting = stage.frame('p');
    await stage.heard('returned', /./);
    const stopped = stage.host.stop(30_000);
    const after = await stage.frame('p');
    stage.write('p', 'gate', '');
    await stopped;
    expect(await running).toMatchObject({ outcomes: [{ task: 0, verdict: 'ok' }], returned: [1] });
    expect(await waiting).toMatchObject({ outcomes: [], returned: [0] });
    expect(after).toMatchObject({ outcomes: [], returned: [0] });
    expect(stage.told.filter(({ kind }) => kind === 'lost')).toEqual([]);
  });

  it('sends its last outcomes whole, although its plugins still print', async () => {
    const prints = `import { randomBytes } from 'node:crypto';
      import { writeFileSync } from 'node:fs';
      setInterval(() => console.log('prints'), 1);
      export const handle = async () => {
        console.log('begun');
        await new Promise(resolve => setTimeout(resolve, 100));
        const result = randomBytes(6 * 2 ** 20).toString('base64');
        writeFileSync(new URL('ended', import.meta.url), '');
        return { result };
      };`;
    const stage = new Stage(1).plugin('p', prints);
    const frame = stage.frame('p');
    await stage.heard('log', /begun/);
    const stopped = stage.host.stop(30_000);
    // This thread reads nothing, so the host cannot write its whole outcome at once.
    while (!existsSync(join(stage.directory, 'plugins', 'p', 'ended')));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    await stopped;
    expect((await frame).outcomes).toMatchObject([{ verdict: 'ok' }]);
  });

  it('kills after the grace, and answers nothing', async () => {
    const stage = new Stage(1).plugin('w', code).plugin('p', '#!/bin/sh\nsleep 65\n');
    void stage.frame('w', { payload: 60_000 });
    void stage.frame('p');
    await stage.heard('log', /is up/);
    await stage.host.stop(50);
    expect(stage.told.filter(({ kind }) => kind === 'outcomes' || kind === 'lost')).toEqual([]);
    expect(readdirSync(stage.runDirectory)).toEqual([]);
  });

  it('does not touch one of its name that is started meanwhile', async () => {
    const quick = 'export const handle = () => {}';
    const first = new Stage(1).plugin('p', quick);
    await first.run('p');
    const stopped = first.host.stop(0);
    const second = new Stage(1, [], first.runDirectory).plugin('p', quick);
    const ran = second.run('p');
    await stopped;
    expect(await ran).toMatchObject({ verdict: 'ok' });
    expect(await second.run('p')).toMatchObject({ verdict: 'ok' });
  });

  it('before it is up sends everything back', async () => {
    const stage = new Stage(1).plugin('p', code);
    const frame = stage.frame('p', { payloads: [0, 0] });
    await stage.host.stop(0);
    expect((await frame).returned).toEqual([0, 1]);
  });
});

/** Waits until the process's last thread is gone, and its files are closed. This blocks the event loop, so no message arrives meanwhile. */
function blockUntilDead(pid: number): void {
  while (readdirSync(`/proc/${pid}/task`).length > 1 || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')));
}

it('gives back what is submitted to a process that is dead, before anybody knows of its death: nothing of it was started', async () => {
  const s = new Stage(1).plugin('quick', 'export const handle = () => ({});');
  await s.run('quick');
  const { pid } = (await s.heard('log', /the plugin host is up/)).fields as { pid: number };
  process.kill(pid, 'SIGKILL');
  blockUntilDead(pid);
  const ends: Promise<FrameEnd>[] = [];
  while (!s.told.some(({ kind }) => kind === 'lost')) {
    ends.push(s.frame('quick'));
    await new Promise(resolve => setImmediate(resolve));
  }
  const unstarted = { outcomes: [], returned: [0], begun: [], lost: null };
  const sentToTheDead = (await Promise.all(ends)).filter(({ outcomes }) => outcomes.length === 0);
  expect(sentToTheDead.length).toBeGreaterThan(0);
  expect(sentToTheDead).toEqual(sentToTheDead.map(() => unstarted));
  expect(await s.run('quick')).toMatchObject({ verdict: 'ok' });
});

it('an outcome that the host sent before its death counts, although something was submitted to the dead process', async () => {
  const killer = `export const handle = () => void setTimeout(() => process.kill(process.pid, 'SIGKILL'), 30);`;
  const s = new Stage(1)
    .plugin('quick', 'export const handle = () => ({ result: { pid: process.pid } });')
    .plugin('killer', killer);
  // On a busy machine, the host may die before it has sent the outcome. Then the frame is lost, and another host is tried.
  for (let tries = 0; tries < 5; tries++) {
    const { result } = await s.run('quick');
    const answered = s.frame('killer');
    blockUntilDead((result as { pid: number }).pid);
    const unread = s.frame('quick');
    expect(await unread).toMatchObject({ outcomes: [], returned: [0], lost: null });
    const { outcomes } = await answered;
    if (outcomes.length === 0) continue;
    expect(outcomes).toMatchObject([{ verdict: 'ok' }]);
    return;
  }
  expect.fail('no outcome has arrived');
});

it('gives back what is submitted to a process that is dead, although the host is being stopped', async () => {
  const s = new Stage(1).plugin('quick', 'export const handle = () => ({});');
  await s.run('quick');
  const { pid } = (await s.heard('log', /the plugin host is up/)).fields as { pid: number };
  process.kill(pid, 'SIGKILL');
  blockUntilDead(pid);
  s.told.splice(0);
  void s.frame('quick');
  await s.host.stop(0);
  expect(s.told.filter(({ kind }) => kind !== 'log')).toMatchObject([{ kind: 'returned' }]);
});
