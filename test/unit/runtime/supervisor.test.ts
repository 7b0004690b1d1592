// The supervisor: start in order, stop in reverse, restart what may be, give up after too many deaths.
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Child, deathCounter, patienceMs, type Running, supervise } from '../../../runtime/supervisor.ts';

function part(name: string, log: string[], restart: Child['restart'] = 'always') {
  let die = (_: Error): void => {};
  const child: Child = {
    name,
    thread: 'main',
    restart,
    stopMsMax: 1000,
    async start(): Promise<Running> {
      log.push(`start ${name}`);
      const died = new Promise<Error>(resolve => {
        die = resolve;
      });
      return { died, stop: async () => void log.push(`stop ${name}`) };
    },
  };
  return { child, die: (reason: string) => die(new Error(reason)) };
}

function world(parts: readonly { child: Child }[]) {
  const deaths: string[] = [];
  let gaveUp = (_: string): void => {};
  const end = new Promise<string>(resolve => {
    gaveUp = resolve;
  });
  const supervisor = supervise({
    tree: parts.map(each => each.child),
    intensity: { deathsMax: 2, withinMs: 1000 },
    nowMs: () => 0,
    onDeath: (child, reason) => deaths.push(`${child}: ${reason.message}`),
    onGiveUp: child => gaveUp(child),
  });
  return { supervisor, deaths, end };
}

const settled = () => new Promise<void>(resolve => setImmediate(resolve));

it('starts in the order of the table and stops in reverse', async () => {
  const log: string[] = [];
  const { supervisor } = world([part('a', log), part('b', log), part('c', log)]);
  await supervisor.start();
  await supervisor.stop();
  expect(log).toEqual(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
});

it('starts again the part that died, and it alone', async () => {
  const log: string[] = [];
  const b = part('b', log);
  const { supervisor, deaths } = world([part('a', log), b]);
  await supervisor.start();
  b.die('oops');
  await settled();
  expect(log).toEqual(['start a', 'start b', 'start b']);
  expect(deaths).toEqual(['b: oops']);
});

it('gives up, with everything stopped, after too many deaths', async () => {
  const log: string[] = [];
  const b = part('b', log);
  const { supervisor, end } = world([part('a', log), b]);
  await supervisor.start();
  for (let death = 0; death < 3; death++) {
    b.die('again');
    await settled();
  }
  expect(await end).toBe('b');
  expect(log.slice(-2)).toEqual(['stop b', 'stop a']);
});

it('ends the service when a part dies that is never started again', async () => {
  const log: string[] = [];
  const a = part('a', log, 'never');
  const { supervisor, end } = world([a]);
  await supervisor.start();
  a.die('gone');
  expect(await end).toBe('a');
});

it('stops what is up already when a later part cannot start', async () => {
  const log: string[] = [];
  const broken: Child = { ...part('b', log).child, start: () => Promise.reject(new Error('port taken')) };
  const { supervisor } = world([part('a', log), { child: broken }]);
  await expect(supervisor.start()).rejects.toThrow('port taken');
  expect(log).toEqual(['start a', 'stop a']);
});

it('counts only the deaths of the last while', () => {
  const died = deathCounter({ deathsMax: 2, withinMs: 100 });
  expect([0, 50, 200, 210, 220].map(at => died(at))).toEqual([false, false, false, false, true]);
});

it('starts again, after a pause and however often, a part that the others can do without', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const log: string[] = [];
  const b = part('b', log, 'patiently');
  const { supervisor, deaths } = world([part('a', log), b]);
  await supervisor.start();
  for (let time = 0; time < 5; time++) {
    b.die('oops');
    await vi.advanceTimersByTimeAsync(patienceMs - 1);
    expect(log).toHaveLength(2 + time);
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(log).toEqual(['start a', ...Array.from({ length: 6 }, () => 'start b')]);
  expect(deaths).toHaveLength(5);
  b.die('oops');
  await supervisor.stop();
  await vi.advanceTimersByTimeAsync(patienceMs);
  expect(log.slice(-2)).toEqual(['stop b', 'stop a']);
});
