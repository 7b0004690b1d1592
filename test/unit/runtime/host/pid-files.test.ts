// Pid files of programs: the next start kills what they name, and nobody else.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { sendSignal } from '../../../../runtime/processes/identity.ts';
import { PidFiles } from '../../../../runtime/processes/pid-files.ts';
import { ProgramPids } from '../../../../runtime/processes/program-pids.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-marks-'));
const started: ChildProcess[] = [];

afterEach(() => {
  for (const { pid } of started.splice(0)) sendSignal(-pid!, 'SIGKILL');
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Starts a process that leads a group; its environment is empty, so it cannot be found by that. */
function start(): ChildProcess {
  const child = spawn('sleep', ['66'], { detached: true, stdio: 'ignore', env: {} });
  started.push(child);
  return child;
}

it('a program that is marked is killed, one whose mark was removed is not', async () => {
  const [over, left, another] = [start(), start(), start()];
  const marks = new ProgramPids(directory, 'programs-1', 'gone');
  for (const { pid } of [over, left]) marks.put(pid!);
  marks.remove(over.pid!);
  marks.put(another.pid!);
  const ended = Promise.all([left, another].map(child => once(child, 'exit')));
  await new PidFiles(directory, 'next').killAll();
  expect(await ended).toEqual([
    [null, 'SIGKILL'],
    [null, 'SIGKILL'],
  ]);
  expect(over.exitCode ?? over.signalCode).toBe(null);
  expect(readdirSync(directory)).toEqual([]);
});

it.each([
  [
    'a process that has got the number since',
    (bytes: Buffer) => bytes.writeDoubleLE(bytes.readDoubleLE(264) - 6000, 264),
  ],
  ['a process of another boot', (bytes: Buffer) => bytes.write('{"bootId":"b","namespace":"n"}'.padEnd(256))],
  ['a process, when the mark was written half', (bytes: Buffer) => bytes.write('}', 0)],
])('%s is left alone', async (_, change) => {
  const child = start();
  new ProgramPids(directory, 'programs-1', 'gone').put(child.pid!);
  const path = join(directory, readdirSync(directory)[0]!);
  const bytes = readFileSync(path);
  change(bytes);
  writeFileSync(path, bytes);
  await new PidFiles(directory, 'next').killAll();
  expect(child.exitCode ?? child.signalCode).toBe(null);
  expect(readdirSync(directory)).toEqual([]);
});

it('a process that survives SIGKILL is looked for at most a fifth of the time', async () => {
  new ProgramPids(directory, 'programs-1', 'gone').put(start().pid!);
  const passes: { readonly beganMs: number; readonly endedMs: number }[] = [];
  const kill = process.kill.bind(process);
  // The first three signals take long and have no effect.
  const slow = vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
    const beganMs = performance.now();
    if (passes.length === 3) return kill(pid, signal);
    while (performance.now() - beganMs < 50);
    passes.push({ beganMs, endedMs: performance.now() });
    return true;
  });
  await new PidFiles(directory, 'next').killAll();
  slow.mockRestore();
  const pausesMs = passes.slice(1).map(({ beganMs }, i) => beganMs - passes[i]!.endedMs);
  for (const pauseMs of pausesMs) expect(pauseMs).toBeGreaterThan(4 * 50 - 2);
});
