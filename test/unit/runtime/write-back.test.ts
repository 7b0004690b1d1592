// How a checkpoint writes the data file back before it syncs the file.
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rangeWriter, stepBytes, stepsMax, writeBack } from '../../../runtime/store/write-back.ts';

const always = () => true;

/** A disk whose writes take `tookMs` by a clock that only they advance; it records the writes and the pauses after them. */
function disk(tookMs: number) {
  const steps: [offset: number, bytes: number][] = [];
  const pauses: number[] = [];
  let nowMs = 0;
  return {
    steps,
    pauses,
    nowMs: () => nowMs,
    async write(offset: number, bytes: number) {
      steps.push([offset, bytes]);
      nowMs += tookMs;
    },
    async pause(ms: number) {
      pauses.push(ms);
    },
  };
}

test('a file is written in steps, and each pause is as long as the write before it', async () => {
  const { steps, pauses, nowMs, write, pause } = disk(7);
  await writeBack(2.5 * stepBytes, write, always, { nowMs, pause });
  expect(steps).toEqual([0, 1, 2].map(n => [n * stepBytes, stepBytes]));
  expect(pauses).toEqual([7, 7, 7]);
});

test('no pause follows a step that had nothing to write', async () => {
  const { pauses, nowMs, write, pause } = disk(0.1);
  await writeBack(4 * stepBytes, write, always, { nowMs, pause });
  expect(pauses).toEqual([]);
});

test('the number of steps is bounded', async () => {
  const { steps, nowMs, write, pause } = disk(0);
  await writeBack(10 * stepsMax * stepBytes + 1, write, always, { nowMs, pause });
  expect(steps.length).toBeLessThanOrEqual(stepsMax);
  const [offset, bytes] = steps.at(-1)!;
  expect(offset + bytes).toBeGreaterThan(10 * stepsMax * stepBytes);
});

test('it ends as soon as it is not to go on', async () => {
  const { steps, nowMs, write, pause } = disk(1);
  await writeBack(100 * stepBytes, write, () => steps.length < 3, { nowMs, pause });
  expect(steps.length).toBe(3);
});

test.runIf(process.platform === 'linux')('the system takes each part of a file', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-write-back-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = openSync(join(directory, 'file'), 'w');
  writeSync(file, Buffer.alloc(3 * stepBytes, 1));
  const write = rangeWriter(file)!;
  expect(await write(0, stepBytes)).toBe(0);
  expect(await write(2 * stepBytes, stepBytes)).toBe(0);
  closeSync(file);
});
