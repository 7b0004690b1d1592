// Deadlines of tasks that are under way together in one thread. A thread that is held up for longer than a deadline is taken for blocked, so
// each deadline is much longer than a busy machine holds a thread up. The tests wait for their deadlines side by side.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { until } from '../../../service/gateway/until.ts';
import { clearStages, concurrentStage, type Ended } from './stage.ts';

const deadlineMs = 3_000;
const timedOut = { verdict: 'timed_out', error: `timed out after ${deadlineMs} ms` };
const byTask = (outcomes: readonly Ended[]) => [...outcomes].sort((a, b) => a.task - b.task);
const many = <T>(count: number, value: T) => Array.from({ length: count }, () => value);

describe.concurrent('A thread of concurrent tasks', () => {
  afterAll(clearStages);

  it('takes no thread for a blocked one whose first frame was over at once while another came', async () => {
    const stage = concurrentStage().plugin(
      'p',
      `await new Promise(go => setTimeout(go, 100));
      export const handle = ({ payload }) => { if (payload.waits) return new Promise(go => setTimeout(go, 500)); };`,
    );
    // Together, the tasks of the second frame take longer than the deadline of each.
    const job = { deadlineMs, concurrency: 1 };
    const [, after] = await Promise.all([
      stage.frame('p', { ...job, payloads: [{}] }),
      stage.frame('p', { ...job, payloads: many(8, { waits: true }) }),
    ]);
    expect(after!.outcomes).toMatchObject(many(8, { verdict: 'ok' }));
  });

  it('tells the outcome of a task at its deadline, while its neighbours go on; its late answer is dropped', async () => {
    const stage = concurrentStage().plugin(
      'p',
      `export const handle = async ({ payload }, { signal, log }) => {
        log('info', 'begun');
        if (payload.heeds) await new Promise(go => signal.addEventListener('abort', () => setTimeout(go, 20)));
        return { result: 'late' };
      };`,
    );
    const { outcomes } = await stage.frame('p', { payloads: [{ heeds: true }, {}], deadlineMs });
    expect(byTask(outcomes)).toMatchObject([
      { ...timedOut, logs: [{ message: 'begun' }] },
      { verdict: 'ok', result: 'late' },
    ]);
    // The thread lives on, and runs the next frame.
    expect((await stage.frame('p', { payloads: [{}] })).outcomes).toMatchObject([{ verdict: 'ok' }]);
    expect(stage.told.filter(({ kind }) => kind === 'replaced')).toEqual([]);
  });

  it('gives each task a deadline and a signal of its own', async () => {
    const stage = concurrentStage().plugin(
      'p',
      `export const handle = async ({ payload }, { signal, emit }) => {
        signal.addEventListener('abort', () => emit({ type: 'aborted' }));
        await new Promise(go => payload.heeds ? signal.addEventListener('abort', go) : setTimeout(go, 1));
        return { result: { aborted: signal.aborted } };
      };`,
    );
    const payloads = Array.from({ length: 255 }, (_, i) => ({ heeds: i % 5 === 0 }));
    const { outcomes } = await stage.frame('p', { payloads, deadlineMs });
    expect(outcomes).toHaveLength(255);
    for (const { task, verdict, events, result } of outcomes) {
      if (task % 5 === 0) expect([verdict, events]).toEqual(['timed_out', [{ type: 'aborted', payload: {} }]]);
      else expect([verdict, events, result]).toEqual(['ok', undefined, { aborted: false }]);
    }
  });

  it('that a task blocks ends: that task is charged, and its neighbours are given back to run alone', async () => {
    const stage = concurrentStage().plugin(
      'p',
      `export const handle = async ({ payload }) => { if (payload.blocks) for (;;); await new Promise(() => {}); };`,
    );
    const payloads = [...many(20, {}), { blocks: true }, ...many(5, {})];
    const { outcomes, begun } = await stage.frame('p', { payloads, deadlineMs });
    expect(outcomes).toMatchObject([{ task: 20, ...timedOut }]);
    expect(begun).toEqual([...Array.from({ length: 20 }, (_, i) => i), 21, 22, 23, 24, 25]);
  });

  it('that an answer blocks when it is looked at ends: the task with that answer is charged', async () => {
    const stage = concurrentStage().plugin(
      'p',
      `export const handle = async ({ payload }) => {
        await null;
        if (payload.odd) return { result: { toJSON() { for (;;); } } };
        await new Promise(() => {});
      };`,
    );
    const { outcomes, begun } = await stage.frame('p', { payloads: [{}, { odd: true }, {}], deadlineMs });
    expect(outcomes).toMatchObject([{ task: 1, verdict: 'timed_out' }]);
    expect(begun).toEqual([0, 2]);
  });

  it('gives a frame back as it came that it has not taken when it blocks', async () => {
    // The thread blocks right after it has reported the outcome, before any of its timers fires.
    const stage = concurrentStage().plugin(
      'p',
      `import { writeFileSync } from 'node:fs';
      const block = () => { writeFileSync(new URL('blocked', import.meta.url), ''); for (;;); };
      export const handle = async ({ payload }, { signal }) => {
        if (payload.blocks) signal.addEventListener('abort', () => queueMicrotask(() => setImmediate(block)));
        await new Promise(() => {});
      };`,
    );
    const late = await stage.frame('p', { payloads: [{ blocks: true }], deadlineMs, concurrency: 4 });
    expect(late.outcomes).toMatchObject([{ verdict: 'timed_out' }]);
    await until('the thread blocks', () => existsSync(join(stage.directory, 'plugins/p/blocked')));
    const next = await stage.frame('p', { payloads: [{}], deadlineMs: 200, concurrency: 4 });
    expect([next.outcomes, next.returned, next.begun]).toEqual([[], [0], []]);
  });
});
