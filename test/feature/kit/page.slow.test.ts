// docs/plugins.md does what it says: its files are written, its commands run, and its examples hold.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { resultOfAnswer } from '../../../runtime/host/wire/response.ts';
import { call } from '../bundled/fixture.ts';
import { asScript, blocksOf, freeAddress } from './page.ts';

const blocks = blocksOf(new URL('../../../docs/plugins.md', import.meta.url));
const hasPython = spawnSync('python3', ['--version']).status === 0;

test(`the page takes a reader to five plugins that work${hasPython ? '' : ' (without Python, which is not installed)'}`, async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-page-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const address = await freeAddress();
  const lines = (text: string) =>
    text
      .split('\n')
      .filter(line => hasPython || !line.includes('shout_py'))
      .join('\n');
  const script = asScript(
    blocks.map(block => (block.language === 'sh' ? { ...block, text: lines(block.text) } : block)),
    address,
  );
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    cwd: home,
    encoding: 'utf8',
    env: { ...process.env, HOME: home },
  });
  expect([status, stderr.split('\n').filter(line => /^(headgate:|FAILED)/.test(line))], `${stdout}\n${stderr}`).toEqual(
    [0, []],
  );
  const [printed] = blocks.filter(({ language }) => language === 'text');
  expect(stdout.endsWith(hasPython ? printed!.text : printed!.text.replace(/^.*\n/, ''))).toBe(true);
  const passed = stdout.match(/^ok .*$/gm) ?? [];
  expect(passed.filter(line => line.includes('good request'))).toHaveLength(hasPython ? 5 : 3);
});

test('its requests have the fields of a request, and its responses are taken', async () => {
  const { response } = await call('handle', request => ({ result: { request } }), {}, { secrets: {} });
  const { request } = response.result as { request: object };
  const examples = (name: string) => blocks.filter(block => block.name === name).map(({ text }) => JSON.parse(text));
  expect(examples('request').map(Object.keys)).toEqual([Object.keys(request)]);
  for (const example of examples('response')) {
    const settled = resultOfAnswer(example, true);
    expect(settled.verdict).toBe(example.status);
  }
  expect(examples('response')).toHaveLength(2);
});
