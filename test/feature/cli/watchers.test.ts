// Callers that wait for jobs: each is told once, when its job has settled, and not all in one turn of the loop.
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { jobId, makeBlockKeys } from '../../../runtime/ids.ts';
import type { Link } from '../../../runtime/link.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { answersMsMax, JobWaiters, waitersMax } from '../../../service/job-waiters.ts';

const key = makeBlockKeys(() => 7).next(1);
const id = (n: number) => jobId(key, n);
const told: string[] = [];
const link = {
  flush: () => void told.push('flush'),
  tell: (_: string, { kind }: { kind: string }) => void told.push(kind),
} as unknown as Link;
const reader = { refresh: () => void told.push('refresh') } as unknown as Reader;
let watchers: JobWaiters;
beforeEach(() => {
  told.length = 0;
  watchers = new JobWaiters(link, reader);
});

vi.useFakeTimers({ toFake: ['performance'] });
afterAll(() => void vi.useRealTimers());

/** A caller that notes how the wait ended, and whose answer takes `ms`. */
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

const jobs = (news: string[]): string[] => news.filter(each => each.endsWith('_job'));

test('answers share one look at the store until they have taken their time; then the sockets have theirs, and the ledger what they brought', async () => {
  for (const n of [1, 2, 3]) watchers.join(id(n), caller(`job ${n}`, n === 2 ? answersMsMax : 0));
  for (const n of [1, 2, 3]) watchers.settled(id(n));
  expect(told).toEqual(['await_job', 'await_job', 'await_job']);
  told.length = 0;
  await loopsTurned(3);
  expect(told).toEqual(['refresh', 'job 1 settled', 'job 2 settled', 'flush', 'refresh', 'job 3 settled']);
});

test('all callers of a job are told, also one whose submission is answered after the news of the end', async () => {
  watchers.join(id(1), caller('first'));
  watchers.join(id(1), caller('second'));
  watchers.settled(id(1));
  await watchers.start({}, async () => ({ kind: 'accepted', id: id(1) }), caller('late'));
  await loopsTurned(2);
  expect(told.filter(each => each.endsWith(' settled'))).toEqual(['first settled', 'second settled', 'late settled']);
});

test('a caller that leaves is told nothing, and the last one takes the ledger its watch', () => {
  const [first, second] = [caller('first'), caller('second')];
  watchers.join(id(1), first);
  watchers.join(id(1), second);
  watchers.leave(id(1), first);
  expect(jobs(told)).toEqual(['await_job', 'await_job']);
  watchers.leave(id(1), second);
  watchers.leave(id(1), second);
  watchers.settled(id(1));
  expect(told).toEqual(['await_job', 'await_job', 'forget_job']);
});

test('the ledger keeps its watch while a submission with a key, which may get the same job, is on its way', async () => {
  const first = caller('first');
  watchers.join(id(1), first);
  let answer!: () => void;
  const key = { key: new Uint8Array(16), request: new Uint8Array(16) };
  const answered = new Promise<void>(resolve => {
    answer = resolve;
  });
  const submit = () => answered.then(() => ({ kind: 'accepted', id: id(1) }) as const);
  const started = watchers.start({ idempotency: key }, submit, caller('repeat'));
  watchers.leave(id(1), first);
  answer();
  await started;
  watchers.settled(id(1));
  await loopsTurned(2);
  expect(told).toEqual(['await_job', 'refresh', 'repeat settled']);
});

test('when the actors are replaced, they hear which jobs are still waited for', async () => {
  watchers.join(id(1), caller('gone'));
  watchers.join(id(2), caller('here'));
  watchers.settled(id(1));
  told.length = 0;
  watchers.renew();
  await loopsTurned(2);
  expect(jobs(told)).toEqual(['await_job']);
});

test(`at most ${waitersMax} callers wait; a further one is told so at once, until another has left`, async () => {
  const first = caller('first');
  watchers.join(id(1), first);
  for (let n = 1; n < waitersMax; n++) watchers.join(id(1), () => {});
  told.length = 0;
  watchers.join(id(1), caller('found'));
  const watched: boolean[] = [];
  const submit = async (watch: boolean) => {
    watched.push(watch);
    return { kind: 'accepted', id: id(2) } as const;
  };
  await watchers.start({}, submit, caller('submitted'));
  await loopsTurned(1);
  expect([told, watched]).toEqual([['found crowded', 'submitted crowded'], [false]]);
  watchers.leave(id(1), first);
  await watchers.start({}, submit, caller('next'));
  expect(watched).toEqual([false, true]);
});

test('a submission that is refused frees its place', async () => {
  for (let n = 1; n < waitersMax; n++) watchers.join(id(1), () => {});
  const watched: boolean[] = [];
  for (const _ of [1, 2]) {
    const submit = async (watch: boolean) => {
      watched.push(watch);
      return { kind: 'refused', refusal: 'queue_full' } as const;
    };
    await watchers.start({}, submit, caller('refused'));
  }
  expect(watched).toEqual([true, true]);
});

test('when the service stops, callers of jobs that have settled are told so after a look at the store, and nobody waits any longer', async () => {
  watchers.join(id(1), caller('over'));
  watchers.join(id(2), caller('open'));
  told.length = 0;
  watchers.settled(id(1));
  watchers.release();
  expect(told).toEqual(['refresh', 'over settled', 'open stopped']);
  await loopsTurned(2);
  expect(told).toEqual(['refresh', 'over settled', 'open stopped', 'refresh']);
});

test('a caller that comes when the service has told the others that it stops is told so, too', async () => {
  watchers.release();
  watchers.join(id(1), caller('late'));
  await watchers.start({}, async () => ({ kind: 'accepted', id: id(2) }), caller('submitted'));
  await loopsTurned(1);
  expect(told.filter(each => each.endsWith(' stopped'))).toEqual(['late stopped', 'submitted stopped']);
});
