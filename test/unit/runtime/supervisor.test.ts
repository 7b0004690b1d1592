// The supervisor: parts start in order, stop in reverse, and restart if they may; the end of another part ends the service.
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Child, patienceMs, type Running, supervise } from '../../../runtime/supervisor.ts';

function part(name: string, log: string[], restarts = true) {
  let die = (_: Error): void => {};
  const child: Child = {
    name,
    restarts,
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
    onDeath: (child, reason) => deaths.push(`${child}: ${reason.message}`),
    onGiveUp: child => gaveUp(child),
  });
  return { supervisor, deaths, end };
}

it('starts in the order of the table and stops in reverse', async () => {
  const log: string[] = [];
  const { supervisor } = world([part('a', log), part('b', log), part('c', log)]);
  await supervisor.start();
  await supervisor.stop();
  expect(log).toEqual(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
});

it('stops everything and ends the service when a part dies that is not started again', async () => {
  const log: string[] = [];
  const a = part('a', log, false);
  const { supervisor, deaths, end } = world([a, part('b', log)]);
  await supervisor.start();
  a.die('gone');
  expect(await end).toBe('a');
  expect(deaths).toEqual(['a: gone']);
  expect(log.slice(-2)).toEqual(['stop b', 'stop a']);
});

it('ends the service with a part that dies while everything stops, if that part is not started again', async () => {
  const log: string[] = [];
  const [a, b] = [part('a', log, false), part('b', log)];
  const slow: Child = {
    ...part('c', log).child,
    async start() {
      const stop = async () => {
        a.die('gone');
        b.die('gone too');
      };
      return { died: new Promise(() => {}), stop };
    },
  };
  const { supervisor, deaths, end } = world([a, b, { child: slow }]);
  await supervisor.start();
  const stopped = supervisor.stop().then(() => 'stopped');
  expect(await Promise.race([end, stopped])).toBe('a');
  expect(deaths).toEqual(['a: gone']);
  expect(log.slice(-2)).toEqual(['stop b', 'stop a']);
});

it('stops what is up already when a later part cannot start', async () => {
  const log: string[] = [];
  const broken: Child = { ...part('b', log).child, start: () => Promise.reject(new Error('port taken')) };
  const { supervisor } = world([part('a', log), { child: broken }]);
  await expect(supervisor.start()).rejects.toThrow('port taken');
  expect(log).toEqual(['start a', 'stop a']);
});

it('waits for a part that is starting when another dies, stops both, and starts no further part', async () => {
  const log: string[] = [];
  const [a, b, c] = [part('a', log, false), part('b', log), part('c', log)];
  let load = (): void => {};
  const loaded = new Promise<void>(resolve => {
    load = resolve;
  });
  const slow: Child = {
    ...b.child,
    async start() {
      await loaded;
      return b.child.start();
    },
  };
  const { supervisor, end } = world([a, { child: slow }, c]);
  const started = supervisor.start();
  // By then `a` runs.
  await new Promise(setImmediate);
  a.die('gone');
  await new Promise(setImmediate);
  expect(log).toEqual(['start a']);
  load();
  await started;
  expect(await end).toBe('a');
  expect(log).toEqual(['start a', 'start b', 'stop b', 'stop a']);
});

it('starts again, after a pause and however often, a part that the others can do without, and it alone', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const log: string[] = [];
  const b = part('b', log);
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
