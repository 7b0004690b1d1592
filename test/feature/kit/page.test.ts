// docs/plugins.md does what it says: its files are written, its commands run, and its examples hold.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { resultOfAnswer } from '../../../runtime/host/wire/response.ts';
import { call } from '../bundled/fixture.ts';
import { blocksOf } from './page.ts';

const blocks = blocksOf(new URL('../../../docs/plugins.md', import.meta.url));
const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
const hasPython = spawnSync('python3', ['--version']).status === 0;
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

test(`the page takes a reader to four plugins that work${hasPython ? '' : ' (without Python, which is not installed)'}`, async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-page-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const address = await freeAddress();
  const isFile = (name: string): boolean => name.startsWith('plugins/');
  const script = blocks
    .filter(({ language, name }) => (language === 'sh' && name === '') || isFile(name))
    .map(({ name, text }) => (isFile(name) ? write(name, text) : run(text, address)))
    .join('\n');
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
  expect(passed.filter(line => line.includes('good request'))).toHaveLength(hasPython ? 4 : 3);
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

function write(name: string, text: string): string {
  return `mkdir -p ${quoted(name.replace(/\/[^/]*$/, ''))}; printf '%s' ${quoted(text)} > ${quoted(name)}`;
}

/** As a reader would, who sees when the gateway is there; it is stopped with the shell. */
function run(commands: string, address: string): string {
  const start = 'headgate start &';
  const headgate = `headgate() { ${quoted(process.execPath)} ${quoted(main)} "$@"; }`;
  const lines = commands.split('\n').filter(line => hasPython || !line.includes('shout_py'));
  const asked = lines.map(line => {
    if (line === start)
      return `${quoted(process.execPath)} ${quoted(main)} start &\ntrap "kill $!; wait $!" EXIT\n${waiting(address)}`;
    const listened = `$& --listen ${address}; echo 'webhooks: { listen: 127.0.0.1:0 }' >> $1/config.yaml`;
    return line.replace(/^headgate init (\S+)$/, listened);
  });
  return ['set -eu', headgate, ...asked].join('\n');
}

function waiting(address: string): string {
  return `until (: < /dev/tcp/${address.replace(':', '/')}) 2> /dev/null; do sleep 0.02; done`;
}

/** Of this machine, free a moment ago. */
async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
}
