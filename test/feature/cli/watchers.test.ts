// Who waits for a run: is told once, when it is over, and not all at once.
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { jobId, makeBlockKeys } from '../../../runtime/ids.ts';
import type { Link } from '../../../runtime/link.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { answersMsMax, RunWaiters } from '../../../service/run-waiters.ts';

const key = makeBlockKeys(() => 7).next(1);
const id = (n: number) => jobId(key, n);
const told: string[] = [];
const link = {
  flush: () => void told.push('flush'),
  tell: (_: string, { kind }: { kind: string }) => void told.push(kind),
} as unknown as Link;
const reader = { refresh: () => void told.push('refresh') } as unknown as Reader;
let watchers: RunWaiters;
beforeEach(() => {
  told.length = 0;
  watchers = new RunWaiters(link, reader);
});

vi.useFakeTimers({ toFake: ['performance'] });
afterAll(() => void vi.useRealTimers());

/** A caller, and how long its answer takes. */
const caller =
  (name: string, ms = 0) =>
  (how: string) => {
    vi.advanceTimersByTime(ms);
    told.push(`${name} ${how}`);
  };
const loopsTurned = (times: number): Promise<void> =>
  new Promise(resolve => {
    const turn = (left: number): void => void (left === 0 ? resolve() : setImmediate(turn, left - 1));
    turn(times);
  });

test('answers share one look at the store until they have taken their time; then the sockets have theirs, and the ledger what they brought', async () => {
  for (const n of [1, 2, 3]) watchers.add(id(n), caller(`run ${n}`, n === 2 ? answersMsMax : 0));
  for (const n of [1, 2, 3]) watchers.settled(id(n));
  expect(told).toEqual([]);
  await loopsTurned(3);
  expect(told).toEqual(['refresh', 'run 1 settled', 'run 2 settled', 'flush', 'refresh', 'run 3 settled']);
});

test('all callers of a run are told, also one that learns of it after its end', async () => {
  watchers.add(id(1), caller('first'));
  watchers.add(id(1), caller('second'));
  watchers.settled(id(1));
  watchers.add(id(1), caller('late'));
  await loopsTurned(2);
  expect(told).toEqual(['refresh', 'first settled', 'second settled', 'late settled']);
});

test('who goes away is told nothing; when the actors are made anew, they hear of the runs that are still waited for', () => {
  const [first, second] = [caller('first'), caller('second')];
  watchers.add(id(1), first);
  watchers.add(id(1), second);
  watchers.add(id(2), first);
  watchers.remove(id(1), first);
  expect(told).toEqual([]);
  watchers.remove(id(1), second);
  watchers.remove(id(1), second);
  watchers.renew();
  watchers.settled(id(1));
  expect(told).toEqual(['await_run']);
});

test('when the service stops, runs that are over are told as such, and nobody waits any longer', async () => {
  watchers.add(id(1), caller('over'));
  watchers.add(id(2), caller('open'));
  watchers.settled(id(1));
  watchers.release();
  expect(told).toEqual(['over settled', 'open stopped']);
  await loopsTurned(2);
  expect(told).toEqual(['over settled', 'open stopped', 'refresh']);
});
