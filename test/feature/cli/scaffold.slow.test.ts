// The files that `init` and `plugin new` create work as these commands say.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runtimes } from '../../../cli/scaffold/plugin.ts';
import { localToken } from '../../../service/local-token.ts';
import { until } from '../../service/gateway/until.ts';
import { headgate, type Outcome } from './headgate.ts';

const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

describe('a new gateway', () => {
  let cwd = '';
  let made: Outcome;

  beforeAll(async () => {
    cwd = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-init-')));
    made = await headgate(['init', 'my gateway', '--listen', await freeAddress(), '--json'], { cwd });
    // All gateways of `init` have the same port for webhooks, so this one gets a free port.
    appendFileSync(join(cwd, 'my gateway/config.yaml'), 'webhooks: { listen: 127.0.0.1:0 }\n');
    const stop = await startService(saidNext(made)[0]!, cwd);
    return async () => {
      await stop();
      rmSync(cwd, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    };
  });

  test('has its token in a file for its owner alone, and a clean configuration', async () => {
    const { token, token_file: tokenFile, directory } = made.json;
    expect([readFileSync(tokenFile, 'utf8'), statSync(tokenFile).mode & 0o777]).toEqual([`${token}\n`, 0o600]);
    expect(made.stderr).not.toContain(token);
    expect((await headgate(['config', 'check', '--config', directory])).status).toBe(0);
  });

  test('does what init says to do next, word for word', async () => {
    const [, run, list] = saidNext(made);
    expect((await headgate(run!, { cwd })).stdout).toBe('good morning everybody\n');
    expect((await headgate(list!, { cwd })).stdout).toMatch(/pipeline.greet-all/);
  });

  test('runs new plugins after a reload', async () => {
    const { directory } = made.json;
    for (const runtime of runtimes) {
      const words = ['plugin', 'new', `new-${runtime}`, '--runtime', runtime, '--into', 'my gateway/plugins'];
      expect((await headgate(words, { cwd })).status).toBe(0);
    }
    expect((await headgate(['reload'], { cwd: directory })).status).toBe(0);
    for (const runtime of runtimes) {
      const words = ['plugin', 'run', `new-${runtime}`, 'handle', '--payload', '{"name":"Ada"}'];
      expect((await headgate(words, { cwd: directory })).stdout).toBe('hello Ada\n');
    }
  });
});

test('init prints the token once, on stdout alone', async () => {
  const cwd = workshop();
  const { stdout, stderr } = await headgate(['init', 'g'], { cwd });
  const token = readFileSync(join(cwd, 'g/data/api-token'), 'utf8');
  expect(stdout).toBe(token);
  expect(stderr).not.toContain(token.trim());
});

test('init that npx has started says to go on with npx', async () => {
  const { stderr } = await headgate(['init', 'g'], { cwd: workshop(), env: { npm_command: 'exec' } });
  expect(stderr.match(/^ {2}\S+ headgate (start|pipeline|job) /gm)).toEqual([
    '  npx headgate start ',
    '  npx headgate pipeline ',
    '  npx headgate job ',
  ]);
});

test('init leaves a directory alone that holds something', async () => {
  const cwd = workshop();
  await headgate(['init', 'g'], { cwd });
  const token = readFileSync(join(cwd, 'g/data/api-token'), 'utf8');
  expect((await headgate(['init', 'g', '--json'], { cwd })).json.code).toBe('usage');
  expect((await headgate(['init', 'g'], { cwd })).status).toBe(2);
  expect(readFileSync(join(cwd, 'g/data/api-token'), 'utf8')).toBe(token);
});

test('a token file that is empty, as an earlier crash could leave it, is made again', () => {
  const state = workshop();
  const file = join(state, 'api-token');
  writeFileSync(file, '\n');
  const { token, made } = localToken(state);
  expect([made, readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([true, `${token}\n`, 0o600]);
  expect(localToken(state)).toEqual({ token, file, made: false });
});

test('init in a place where nothing can be written ends with 74', async () => {
  const cwd = workshop();
  await headgate(['init', 'g'], { cwd });
  const { status, json } = await headgate(['init', 'g/config.yaml/below', '--json'], { cwd });
  expect([status, json.code]).toEqual([74, 'io_error']);
});

test.skipIf(!existsSync('/proc/self'))('init where the system makes no directories ends at once', () => {
  const words = [main, 'init', '/proc/x', '--json'];
  const { status, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 20_000 });
  expect([status, JSON.parse(stdout).code]).toEqual([74, 'io_error']);
});

test.each(runtimes)('a new plugin passes its own test, and plugin test: %s', async runtime => {
  const cwd = workshop();
  const { status, json } = await headgate(['plugin', 'new', 'fresh', '--runtime', runtime, '--json'], { cwd });
  expect([status, json.directory]).toEqual([0, join(cwd, 'plugins/fresh')]);
  const [program, ...words] = json.test.split(' ');
  const ran = program === 'headgate' ? [process.execPath, main] : [program];
  const tested = spawnSync(ran[0], [...ran.slice(1), ...words], {
    cwd: json.directory,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  expect(tested.status, tested.stdout + tested.stderr).toBe(0);
  expect(tested.stdout + tested.stderr).toMatch(/# pass 2|Ran 3 tests|the result "hello Ada"/);
  expect(existsSync(join(json.directory, '__pycache__'))).toBe(false);
  const tried = spawnSync(process.execPath, [main, 'plugin', 'test', json.directory], { encoding: 'utf8' });
  expect(tried.status, tried.stdout + tried.stderr).toBe(0);
});

test('a new plugin in TypeScript passes tsc where no package is installed, and what Node cannot strip does not', async () => {
  const cwd = workshop();
  await headgate(['plugin', 'new', 'typed', '--runtime', 'typescript'], { cwd });
  const directory = join(cwd, 'plugins/typed');
  const tsc = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url));
  const check = () => spawnSync(tsc, ['-p', directory], { encoding: 'utf8' }).stdout;
  expect(check()).toBe('');
  const code = readFileSync(join(directory, 'index.ts'), 'utf8');
  writeFileSync(join(directory, 'index.ts'), `${code.replace('{ name } =', '{ nme } =')}\nenum Mode { loud }\n`);
  expect(check()).toMatch(/Property 'nme' does not exist[\s\S]*'erasableSyntaxOnly'/);
});

test('addresses and names that YAML would not read as text are quoted', async () => {
  const cwd = workshop();
  expect((await headgate(['init', 'g', '--listen', '[::1]:8080'], { cwd })).status).toBe(0);
  const names = ['42', '1e3', 'true', 'null'];
  for (const name of names) await headgate(['plugin', 'new', name, '--into', 'g/plugins'], { cwd });
  const { status, stderr } = await headgate(['config', 'check', '--config', 'g'], { cwd });
  expect([status, stderr]).toEqual([0, '']);
  const { json } = await headgate(['config', 'show', '--config', 'g', '--json'], { cwd });
  expect(json.api.listen).toBe('[::1]:8080');
  expect(Object.keys(json.plugins)).toEqual(expect.arrayContaining(names));
});

test.each([
  ['a name that leads elsewhere', ['plugin', 'new', '../x']],
  ['a reserved name', ['plugin', 'new', 'headgate']],
  ['a runtime that there is not', ['plugin', 'new', 'x', '--runtime', 'wasm']],
  ['an address without port', ['init', 'x', '--listen', 'localhost']],
])('%s is wrong use, and makes nothing', async (_, words) => {
  const cwd = workshop();
  expect((await headgate(words, { cwd })).status).toBe(2);
  expect(existsSync(join(cwd, 'plugins')) || existsSync(join(cwd, 'x'))).toBe(false);
});

function workshop(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-init-')));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return directory;
}

/** The commands that init says to call next, as words. */
function saidNext({ stderr }: Outcome): string[][] {
  return [...stderr.matchAll(/^ {2}headgate (.*)$/gm)].map(([, line]) => wordsOf(line!));
}

/** Starts the service; resolves when it is ready, with a function that stops it. */
async function startService(words: readonly string[], cwd: string): Promise<() => Promise<unknown>> {
  const child = spawn(process.execPath, [main, ...words], { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  const closed = once(child, 'close');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until('the service is ready', () => {
    if (child.exitCode !== null) throw new Error(`it has ended: ${said}`);
    return said.includes('"msg":"ready"');
  });
  return () => {
    child.kill('SIGTERM');
    return closed;
  };
}

/** A free port on a random loopback address, where the system has several. */
async function freeAddress(): Promise<string> {
  const some = () => 1 + Math.floor(Math.random() * 250);
  const host = process.platform === 'linux' ? `127.${some()}.${some()}.${some()}` : '127.0.0.1';
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return `${host}:${port}`;
}

/** The words of a line as a shell splits it; only single quotes around whole words are supported. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
}
