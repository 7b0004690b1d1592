// When a plugin thread may be stopped: Node aborts the whole process if a thread is stopped while it still links its modules.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test, vi } from 'vitest';
import { WatchedThread } from '../../../../runtime/host/process/thread-end.ts';
import { clearStages, Stage } from './stage.ts';

const waits = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', () => {});
parentPort.postMessage('begun');
`;

afterEach(async () => {
  vi.useRealTimers();
  await clearStages();
});

async function begun(): Promise<{ readonly worker: Worker; readonly thread: WatchedThread }> {
  const worker = new Worker(waits, { eval: true });
  const thread = new WatchedThread(worker, 64);
  await once(worker, 'message');
  return { worker, thread };
}

test('a thread is stopped only when it has loaded its own code, however long that takes', async () => {
  const { worker, thread } = await begun();
  const terminate = vi.spyOn(worker, 'terminate');
  vi.useFakeTimers();
  const stuck = vi.fn();
  const ended = thread.terminate(stuck);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(terminate).not.toHaveBeenCalled();
  vi.useRealTimers();
  thread.hasLoaded();
  await ended;
  expect(terminate).toHaveBeenCalledOnce();
  expect(stuck).not.toHaveBeenCalled();
});

test('a thread that ends before it has loaded its code needs no stop', async () => {
  const { worker, thread } = await begun();
  const settled = thread.settled();
  await worker.terminate();
  await settled;
  await thread.exited;
});

test('a thread that does not end is stuck after 2 s in which this process runs', async () => {
  const { worker, thread } = await begun();
  thread.hasLoaded();
  vi.spyOn(worker, 'terminate').mockReturnValue(new Promise(() => {}));
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const stuck = vi.fn();
  const ended = thread.terminate(stuck);
  await vi.advanceTimersByTimeAsync(1_999);
  expect(stuck).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(stuck).toHaveBeenCalledOnce();
  vi.restoreAllMocks();
  vi.useRealTimers();
  await worker.terminate();
  await ended;
});

test('each thread of a host is stopped, also those that replace others', async () => {
  const stage = new Stage(1).plugin('endless', 'export const handle = () => { for (;;); };');
  // More than the host has threads at first.
  for (let times = 0; times < 5; times++) {
    expect(await stage.run('endless', { deadlineMs: 20 })).toMatchObject({ verdict: 'timed_out' });
  }
});
