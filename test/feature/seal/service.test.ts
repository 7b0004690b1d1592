// A sealed service: what runs is what was locked, and start, reload, doctor and check keep to it.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { writeConfiguration } from '../../service/gateway/configuration.ts';
import { Gateway, type Job } from '../../service/gateway/gateway.ts';
import { headgate, type Outcome } from '../cli/headgate.ts';

const once = { retry: { max_attempts: 1 } };
const script = (word: string) => `#!/bin/sh\ncat > /dev/null\necho '{"status":"ok","result":"${word}"}'\n`;
const lazily = `import { createRequire } from 'node:module';
import { word } from './lib/inner.mjs';
const get = file => (file.endsWith('.cjs') ? createRequire(import.meta.url)(file) : import(file));
export const handle = async ({ event }) => ({ result: [word, (await get(event.payload.file)).word].join() });
`;
const commonly = `const { word } = require('./inner.cjs');
exports.handle = ({ event }) => ({ result: [word, require('dep'), require(event.payload.file).word].join() });
`;
const files = {
  'lazily/lib/inner.mjs': "export const word = 'inner';",
  'lazily/lib/late.mjs': "export const word = 'late';",
  'lazily/lib/later.mjs': "export const word = 'later';",
  'lazily/lib/common.cjs': "exports.word = 'common';",
  'commonly/inner.cjs': "exports.word = 'inner';",
  'commonly/late.cjs': "exports.word = 'late';",
  'commonly/later.cjs': "exports.word = 'later';",
  'commonly/node_modules/dep/index.js': "module.exports = 'dep';",
};
const settings = {
  service: { strict_mode: true },
  plugins: {
    lazily,
    commonly: {
      code: commonly,
      entrypoint: 'index.cjs',
      runtime: 'worker',
      commands: { handle: {} },
    },
    idle: `export const handle = () => ({ result: 'idle' });\nexport const spin = () => { for (;;); };`,
    script: { code: script('ran'), entrypoint: 'run.sh', commands: { handle: {} } },
  },
  instances: { lazily: once, commonly: once, idle: { ...once, timeouts: { spin: '50ms' } }, script: once },
};

let home: string;
let environment: { readonly [name: string]: string };
let gateway: Gateway;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'headgate-seal-'));
  environment = { HEADGATE_SEAL_KEY_FILE: join(home, 'seal.key') };
  gateway = new Gateway(settings, { environment });
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(plugin(name)), { recursive: true });
    await writeFile(plugin(name), text);
  }
  expect(await command('lock')).toMatchObject({ status: 0, json: { ok: true, number: 1, strict: true } });
  await gateway.start();
  return async () => {
    await gateway.discard();
    await rm(home, { recursive: true });
  };
});

test('what was locked runs: modules, what they import and require, and processes', async () => {
  expect(resultOf(await gateway.finished('lazily/handle', { file: './lib/late.mjs' }))).toBe('inner,late');
  expect(resultOf(await gateway.finished('commonly/handle', { file: './late.cjs' }))).toBe('inner,dep,late');
  expect(resultOf(await gateway.finished('script/handle'))).toBe('ran');
});

test.each([
  ['imported', 'lazily/handle', 'lazily/lib/later.mjs', './lib/later.mjs'],
  ['required by a module', 'lazily/handle', 'lazily/lib/common.cjs', './lib/common.cjs'],
  ['required', 'commonly/handle', 'commonly/later.cjs', './later.cjs'],
  ['loaded as an entrypoint', 'idle/handle', 'idle/index.mjs', ''],
  ['started', 'script/handle', 'script/run.sh', ''],
])('code that was swapped after the start is not %s', async (_, call, name, file) => {
  const locked = readFileSync(plugin(name));
  writeFileSync(plugin(name), `${locked}\n`);
  const job = await gateway.finished(call, { file });
  expect(job).toMatchObject({ last_error: expect.stringContaining('has changed since it was locked') });
  writeFileSync(plugin(name), locked);
});

test('what was put back runs again', async () => {
  expect(resultOf(await gateway.finished('idle/handle'))).toBe('idle');
  expect(resultOf(await gateway.finished('script/handle'))).toBe('ran');
});

test('a thread that verifies what it loads is replaced when it blocks, as any other', async () => {
  expect((await gateway.finished('idle/spin')).status).toBe('timed_out');
  expect(resultOf(await gateway.finished('idle/handle'))).toBe('idle');
});

test('code that was added after the start is not loaded', async () => {
  writeFileSync(plugin('lazily/lib/new.mjs'), files['lazily/lib/late.mjs']);
  const job = await gateway.finished('lazily/handle', { file: './lib/new.mjs' });
  expect(job).toMatchObject({ last_error: expect.stringContaining('lib/new.mjs is not in the lock') });
  rmSync(plugin('lazily/lib/new.mjs'));
});

test('a reload of what was not locked is refused with a line for each finding, and the doctor says so', async () => {
  writeFileSync(plugin('idle/index.mjs'), "export const handle = () => ({ result: 'other' });");
  writeFileSync(plugin('idle/more.mjs'), '');
  const refused = await gateway.call('POST', '/system/reload');
  expect(refused).toMatchObject({ status: 409, body: { code: 'reload_refused' } });
  const messages = (refused.body['errors'] as { message: string }[]).map(({ message }) => message);
  expect(messages).toEqual([
    expect.stringContaining('idle/index.mjs:1:1: seal: has changed since lock 1'),
    expect.stringContaining('idle/more.mjs:1:1: seal: is not in lock 1'),
  ]);
  const { body } = await gateway.call('GET', '/system/doctor');
  const failed = (body['checks'] as { name: string; passed: boolean }[]).filter(({ passed }) => !passed);
  expect(failed.map(({ name }) => name)).toEqual(['seal']);
  expect(await command('check')).toMatchObject({ status: 78, json: { ok: false, problems: messages } });
});

test('a new lock lets the new code in, without a restart', async () => {
  expect(await command('lock')).toMatchObject({ status: 0, json: { number: 2 } });
  expect((await gateway.call('POST', '/system/reload')).status).toBe(200);
  expect(resultOf(await gateway.finished('idle/handle'))).toBe('other');
  expect((await gateway.call('GET', '/system/doctor')).body['checks']).toContainEqual({
    name: 'seal',
    passed: true,
    detail: 'matches lock 2, strict',
  });
});

test('a start with what was not locked, or with an older lock, ends with 78', async () => {
  const lock = join(gateway.directory, '.headgate.lock');
  const older = readFileSync(lock);
  await command('lock');
  expect((await gateway.call('POST', '/system/reload')).status).toBe(200);
  await gateway.term();
  writeFileSync(lock, older);
  await expect(gateway.start()).rejects.toThrow('older than the accepted lock 3');
  expect((await gateway.ended).status).toBe(78);
});

test('so does a start without a lock, not strict, and with another state.path', async () => {
  rmSync(join(gateway.directory, '.headgate.lock'));
  writeConfiguration(gateway.directory, { ...settings, service: {}, state: { path: './data2' } });
  await expect(gateway.start()).rejects.toThrow('.headgate.lock:1:1: seal: is missing');
  expect((await gateway.ended).status).toBe(78);
  expect(await command('check')).toMatchObject({ status: 78 });
});

function plugin(name: string): string {
  return join(gateway.directory, 'plugins', name);
}

function command(word: 'lock' | 'check'): Promise<Outcome> {
  return headgate(['config', word, '--config', gateway.directory, '--json'], { env: environment });
}

function resultOf(job: Job): unknown {
  return job.result?.result;
}
