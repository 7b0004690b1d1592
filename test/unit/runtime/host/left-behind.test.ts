// What ended jobs leave behind in a thread, and cancels that arrive while a thread prepares a task.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { clearStages, concurrentStage, Stage } from './stage.ts';

afterEach(clearStages);

const good = "export const handle = () => ({ result: 'x' });";

test.each([
  ['in a timer', 'setTimeout(() => { for (;;); }, 5);'],
  ['before the end of the frame', 'queueMicrotask(() => { for (;;); });'],
])('code that a job leaves behind and that blocks its thread %s does not stop later jobs', async (_, left) => {
  const stage = new Stage(1).plugin('bad', `export const handle = () => { ${left} };`).plugin('good', good);
  // More jobs than the host has threads at first.
  for (let times = 0; times < 3; times++) {
    const ended = await stage.run('bad', { deadlineMs: 100 });
    expect(ended).toMatchObject({ verdict: 'ok' });
  }
  expect(await stage.run('good', { deadlineMs: 100 })).toMatchObject({ verdict: 'ok' });
});

test.each([
  ['a thread', () => new Stage(1)],
  ['a concurrent thread', concurrentStage],
])('in %s no task begins after its cancel was confirmed', async (_, makeStage) => {
  const code = `import { writeFileSync } from 'node:fs';
    export const handle = () => writeFileSync(new URL('./began', import.meta.url), String(Date.now()));`;
  const stage = makeStage().plugin('slow', code);
  await stage.run('slow');
  // Unpacking this takes longer than the cancel.
  const payload = { list: Array.from({ length: 300_000 }, (_, i) => ({ i })) };
  const began = join(stage.directory, 'plugins/slow/began');
  for (let pauseMs = 0; pauseMs < 120; pauseMs += 20) {
    rmSync(began, { force: true });
    const end = stage.frame('slow', { payload });
    // The cancel meets the task at different points of its way to the handler.
    await new Promise(resolve => setTimeout(resolve, pauseMs));
    await stage.cancel(0);
    const confirmedMs = Date.now();
    const { outcomes } = await end;
    if (outcomes.length === 0) expect(existsSync(began)).toBe(false);
    else expect(Number(readFileSync(began, 'utf8'))).toBeLessThanOrEqual(confirmedMs);
  }
});
