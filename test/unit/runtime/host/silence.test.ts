// A host that lives but does not answer pings is killed, and handled as any host that died.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../runtime/clock.ts';
import { until } from '../../../service/gateway/until.ts';
import { builtHost, clearStages, Stage } from './stage.ts';

const processModule = new URL('./host-process.js', builtHost).href;
const { HostProcess, pingMs } = (await import(
  processModule
)) as typeof import('../../../../runtime/host/client/host-process.ts');
const { confirmMsMax } = (await import(builtHost)) as typeof import('../../../../runtime/host/client/host.ts');
const { PidFiles } = (await import(
  new URL('../../processes/pid-files.js', builtHost).href
)) as typeof import('../../../../runtime/processes/pid-files.ts');

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(async () => {
  vi.useRealTimers();
  await clearStages();
});

const code = `import { writeFileSync } from 'node:fs';
  export function handle({ payload }) {
    if (!payload.waits) return { result: String(process.pid) };
    writeFileSync(new URL('began', import.meta.url), '');
    return new Promise(() => {});
  }`;

it('one that was stopped from outside is killed with its jobs, and another takes over', async () => {
  const stage = new Stage(1).plugin('p', code);
  const pid = Number((await stage.run('p')).result);
  const waiting = stage.frame('p', { payload: { waits: true } });
  await until('the job runs', () => existsSync(join(stage.directory, 'plugins', 'p', 'began')));
  process.kill(pid, 'SIGSTOP');
  vi.advanceTimersByTime(4 * pingMs);
  expect((await waiting).lost).toBe('the plugin host died (SIGKILL), which had stopped answering');
  expect((await stage.run('p')).result).not.toBe(String(pid));
});

it('one that does not confirm a cancel in time is killed with its jobs', async () => {
  const stage = new Stage(1).plugin('p', code);
  const pid = Number((await stage.run('p')).result);
  const waiting = stage.frame('p', { payload: { waits: true } });
  await until('the job runs', () => existsSync(join(stage.directory, 'plugins', 'p', 'began')));
  process.kill(pid, 'SIGSTOP');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  void stage.cancel(0);
  vi.advanceTimersByTime(confirmMsMax);
  expect((await waiting).lost).toBe('the plugin host died (SIGKILL)');
  expect((await stage.run('p')).result).not.toBe(String(pid));
});

it('one that confirms lives on, however often a task is cancelled before', async () => {
  const stage = new Stage(1).plugin('p', code);
  const pid = (await stage.run('p')).result;
  const waiting = stage.frame('p', { payload: { waits: true } });
  await until('the job runs', () => existsSync(join(stage.directory, 'plugins', 'p', 'began')));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await Promise.all([stage.cancel(0), stage.cancel(0)]);
  expect((await waiting).lost).toBe(null);
  vi.advanceTimersByTime(confirmMsMax);
  vi.useRealTimers();
  expect((await stage.run('p')).result).toBe(pid);
});

it('one that answers lives on', async () => {
  const { runDirectory, directory } = new Stage(1);
  const said: string[] = [];
  const host = await HostProcess.start(
    {
      name: 'idle',
      threads: 1,
      runtimes: ['worker'],
      runDirectory,
      envPassthrough: [],
      clock: systemClock(),
      listener: { onOutcomes() {}, onReturned() {}, onLost() {}, onThreadReplaced() {}, onCancelling() {} },
      log() {},
    },
    new PidFiles(directory, 'idle'),
    kind => void said.push(kind),
    text => text,
  );
  for (let pings = 1; pings <= 5; pings++) {
    vi.advanceTimersByTime(pingMs);
    await until('it has answered', () => said.filter(kind => kind === 'pong').length === pings);
  }
  host.kill();
  expect(await host.gone).toBe('the plugin host died (SIGKILL)');
});
