// `npm start`, as a supervisor would run it: a signal to npm ends the service too.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root } from './package.ts';

test('SIGTERM to npm start ends the service in good order, and nothing stays behind', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-npm-start-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const name of ['dist', 'node_modules', 'plugins']) symlinkSync(join(root, name), join(directory, name));
  for (const name of ['package.json', 'examples']) cpSync(join(root, name), join(directory, name), { recursive: true });
  rmSync(join(directory, 'examples', 'dependency-report', 'data'), { recursive: true, force: true });
  // Listens on free ports, because others may be in use here.
  const example = join(directory, 'examples', 'dependency-report');
  writeFileSync(join(example, 'api.yaml'), 'api: { listen: 127.0.0.1:0 }\nwebhooks: { listen: 127.0.0.1:0 }\n');
  const child = spawn('npm', ['start'], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (/"msg":"ready"|\bready\b/.test(said)) resolve();
      });
    void ended.then(() => reject(new Error(`npm start ended instead of getting ready:\n${said}`)));
  });
  child.kill('SIGTERM');
  // npm's output closes only once every process that shares it has ended.
  await ended;
  expect(spawnSync('pgrep', ['-f', directory], { encoding: 'utf8' }).stdout).toBe('');
});
