// Files of the service are for its user alone, whatever its directory and umask; plugins keep the umask that it was started with.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { Gateway } from './gateway.ts';

const plugins = {
  worker: `import { writeFileSync } from 'node:fs';
export const run = () => (writeFileSync(import.meta.dirname + '/../../by-worker', ''), {});`,
  program: {
    code: `#!/bin/sh\ntouch ../../by-program; echo '{"status":"ok"}'\n`,
    entrypoint: 'run.sh',
    runtime: 'process',
    commands: { run: {} },
  },
};

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

/** Every file in the directory and below that others may use. */
function openFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(name => {
    const path = join(directory, name);
    return statSync(path, { throwIfNoEntry: false })?.isFile() && (modeOf(path) & 0o077) !== 0;
  });
}

test('a state directory that others may enter holds no file that they may read', async () => {
  const before = process.umask(0o022);
  onTestFinished(() => void process.umask(before));
  const gateway = new Gateway({ plugins });
  onTestFinished(() => gateway.discard());
  const state = join(gateway.directory, 'data');
  mkdirSync(state);
  // The service inherits the umask of the test.
  await gateway.start();
  await gateway.finished('worker/run');
  await gateway.finished('program/run');
  expect(modeOf(state)).toBe(0o755);
  expect(openFiles(state)).toEqual([]);
  // Files of plugins have the mode that the umask of the start gives them.
  expect(['by-worker', 'by-program'].map(name => modeOf(join(gateway.directory, name)))).toEqual([0o644, 0o644]);

  // A start removes the permissions of other users on existing files of the state.
  await gateway.term();
  for (const name of ['data.mdb', 'lock.mdb', 'search/data.mdb']) chmodSync(join(state, name), 0o644);
  await gateway.start();
  expect(openFiles(state)).toEqual([]);
});

test('nor does one that a command has filled', async () => {
  const before = process.umask(0o022);
  const directory = mkdtempSync(join(tmpdir(), 'headgate-modes-'));
  onTestFinished(() => {
    process.umask(before);
    rmSync(directory, { recursive: true, force: true });
  });
  const state = join(directory, 'data');
  mkdirSync(state);
  writeFileSync(join(directory, 'config.yaml'), '{}');
  expect((await headgate(['vault', 'init', '--config', directory, '--json'])).status).toBe(0);
  expect(openFiles(state)).toEqual([]);
});
