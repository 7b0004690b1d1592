// docs/pipelines.md, "Long lists": its files, in a gateway that init made, run a pipeline over every line of a file.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../service/gateway/until.ts';
import { blocksOf } from './page.ts';

const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
const all = blocksOf(new URL('../../../docs/pipelines.md', import.meta.url));
const files = all.filter(({ name }) => /^plugins[/.]|^pipelines\./.test(name));
const commands = all.find(({ language, text }) => language === 'sh' && text.includes('people.txt'))!.text;
const printed = all.find(({ language, text }) => language === 'text' && text.includes('good morning'));
/** The page has a million; this is three pages of the file. */
const lines = 30_000;

test('the recipe for long lists runs once for each line', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-list-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const headgate = (words: readonly string[], cwd: string) =>
    spawnSync(process.execPath, [main, ...words], { cwd, encoding: 'utf8' });
  expect(headgate(['init', 'gateway', '--listen', '127.0.0.1:0'], home).status).toBe(0);
  const gateway = join(home, 'gateway');
  appendFileSync(join(gateway, 'config.yaml'), 'webhooks: { listen: 127.0.0.1:0 }\n');
  const here = (text: string) => text.replaceAll('/srv/lists', home).replaceAll('1000000', String(lines));
  const service = spawn(process.execPath, [main, 'start'], { cwd: gateway, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(service, 'close');
  onTestFinished(async () => {
    service.kill('SIGTERM');
    await ended;
  });
  let said = '';
  service.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until('the service is ready', () => said.includes('"msg":"ready"'));
  for (const { name, text } of files) {
    mkdirSync(dirname(join(gateway, name)), { recursive: true });
    writeFileSync(join(gateway, name), here(text));
  }
  const script = `set -eu\nheadgate() { '${process.execPath}' '${main}' "$@"; }\n${here(commands)}`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { cwd: gateway, encoding: 'utf8' });
  expect(readFileSync(join(home, 'people.txt')).length).toBeGreaterThan(2 * 64 * 1024);
  expect(stdout.endsWith(here(printed!.text)), `${stdout}\n${stderr}`).toBe(true);
  const listed = headgate(['job', 'list', '--plugin', 'greet', '--limit', '1', '--json'], gateway);
  expect(JSON.parse(listed.stdout).total).toBe(lines + 1);
});
