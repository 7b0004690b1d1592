// A process group is signalled by its number, which may belong to another group once the group has ended.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { killDelayMs, Programs } from '../../../../runtime/host/process/program.ts';
import { identify } from '../../../../runtime/processes/identity.ts';
import { ProcessGroup } from '../../../../runtime/processes/process-group.ts';
import { ProgramPids } from '../../../../runtime/processes/program-pids.ts';
import { until } from '../../../service/gateway/until.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-group-'));

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Starts a process group whose leader has ended; another process of it lives until its input ends. */
async function leaderless() {
  const child = spawn('/bin/sh', ['-c', 'cat <&3 >/dev/null & echo $!'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  });
  const group = new ProcessGroup(child);
  const [[left]] = await Promise.all([once(child.stdout!, 'data'), once(child, 'exit')]);
  return { child, group, left: Number(left) };
}

test('what its leader has left is killed with it', async () => {
  const { group, left } = await leaderless();
  group.end();
  await until('it is gone', () => identify(left).startTicks === null);
});

test('a group whose number another process has is left alone', async () => {
  const { child, group } = await leaderless();
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  group.signal('SIGKILL');
  group.end();
  expect(kill.mock.calls).toEqual([[child.pid, 0]]);
  child.stdio[3]!.destroy();
});

test('a program that is over is not signalled, whatever is asked of it, nor later', async () => {
  const marks = new ProgramPids(directory, 'test', 'host');
  const programs = new Programs(marks, directory);
  const base = {
    instance: 'p',
    plugin: 'p',
    dialect: 'headgate',
    runtime: 'process',
    config: {},
    commands: {},
  } as const;
  const program = await programs.start({ ...base, directory: '/bin', entrypoint: 'true' });
  await program.ended;
  vi.useFakeTimers();
  const kill = vi.spyOn(process, 'kill');
  program.endInput();
  program.terminate();
  program.kill();
  vi.advanceTimersByTime(killDelayMs);
  expect(kill).not.toHaveBeenCalled();
  rmSync(directory, { recursive: true });
});
