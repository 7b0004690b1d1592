// Slices: all long reads together share one slice per turn of the event loop, and short reads end soon.
import { expect, onTestFinished, test, vi } from 'vitest';
import { Dropped, type Sliced, Slices, sliceMsMax } from '../../../runtime/slices.ts';

/** Work that yields until `isOver`. */
function* endless(isOver: () => boolean, onStep = () => {}): Sliced<string> {
  while (!isOver()) {
    onStep();
    yield;
  }
  return 'long';
}

function* short(): Sliced<string> {
  yield;
  return 'short';
}

test('what is short does not wait for what is long, whoever was first', async () => {
  const slices = new Slices(() => {});
  let isOver = false;
  const long = Array.from({ length: 5 }, () => slices.share().run(endless(() => isOver)));
  expect(await slices.share().run(short())).toBe('short');
  isOver = true;
  expect(await Promise.all(long)).toEqual(long.map(() => 'long'));
});

test('many at once take no more of a turn of the loop than one', async () => {
  // Each look at the clock takes a millisecond.
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs++);
  onTestFinished(() => void vi.restoreAllMocks());
  const turns: number[] = [];
  const slices = new Slices(() => turns.push(0));
  const isOver = () => turns.length > 20;
  const step = () => {
    turns[turns.length - 1]!++;
  };
  await Promise.all(Array.from({ length: 50 }, () => slices.share().run(endless(isOver, step))));
  expect(Math.max(...turns.slice(0, 20))).toBeLessThanOrEqual(sliceMsMax);
});

test('each has its part of the time', async () => {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs++);
  onTestFinished(() => void vi.restoreAllMocks());
  const slices = new Slices(() => {});
  const steps = [0, 0, 0, 0];
  const isOver = () => steps.reduce((a, b) => a + b) >= 400;
  await Promise.all(steps.map((_, k) => slices.share().run(endless(isOver, () => void steps[k]!++))));
  for (const count of steps) expect(count).toBeGreaterThan(50);
});

test('what is closed is dropped, whether it waits or comes later', async () => {
  const slices = new Slices(() => {});
  const share = slices.share();
  const running = share.run(endless(() => false));
  share.close();
  await expect(running).rejects.toThrow(Dropped);
  await expect(share.run(short())).rejects.toThrow(Dropped);
  expect(await slices.share().run(short())).toBe('short');
});

test('what fails fails alone', async () => {
  const slices = new Slices(() => {});
  function* failing(): Sliced<void> {
    yield;
    throw new Error('as meant');
  }
  const failed = slices.share().run(failing());
  const other = slices.share().run(short());
  await expect(failed).rejects.toThrow('as meant');
  expect(await other).toBe('short');
});
