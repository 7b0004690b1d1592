// The bundled plugins shell, transform, delay and log, and all of them as a gateway offers them.
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Handler, JsonObject } from '../../../runtime/host/api/plugin-api.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { until } from '../../service/gateway/until.ts';
import { call, importBundled } from './fixture.ts';

type Module = { handle: Handler };
const shell = await importBundled<Module>('shell/index.js');
const delay = await importBundled<Module>('delay/index.js');
const log = await importBundled<Module>('log/index.js');
const node = process.execPath;
const home = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-toolbox-')));
afterAll(() => rmSync(home, { recursive: true }));

describe('shell', () => {
  const run = (
    args: readonly string[],
    payload: JsonObject = {},
    more: { signal?: AbortSignal; config?: JsonObject } = {},
  ) =>
    call('handle', shell.handle, payload as never, {
      ...more,
      config: { command: 'sh', args: [...args], ...more.config },
    });

  test('gives the payload on stdin, and its output back', async () => {
    const { response } = await run(['-c', 'cat; echo careful >&2'], { a: "'; rm -rf $HOME `id`" });
    expect(response).toEqual({
      result: { exit_status: 0, stdout: `{"a":"'; rm -rf $HOME \`id\`"}\n`, stderr: 'careful\n' },
    });
  });

  test('hands arguments over as they are: no shell reads them', async () => {
    const args = ['$HOME', '*', '; id', '`id`', ''];
    const config = { command: node, args: ['-p', 'JSON.stringify(process.argv.slice(1))', ...args] };
    const { response } = await run([], {}, { config });
    expect(JSON.parse((response.result as { stdout: string }).stdout)).toEqual(args);
  });

  test.each<[script: string, retry: boolean, error: string]>([
    ['exit 3', true, 'sh: exit status 3'],
    ['exit 78', false, 'sh: exit status 78'],
    ['kill -9 $$', true, 'sh: killed by SIGKILL'],
  ])('%s: retry %s', async (script, retry, error) => {
    expect((await run(['-c', script])).response).toMatchObject({
      status: 'error',
      error,
      retry,
      result: { stdout: '' },
    });
  });

  test('a program that writes too much is ended', async () => {
    const { response } = await run(['-c', 'yes'], {}, { config: { max_output_bytes: 1000 } });
    expect(response).toMatchObject({ error: 'more than 1000 bytes of output', retry: false });
    expect((response.result as { stdout: string }).stdout).toHaveLength(1000);
  });

  test('a program that does not read its input, or leaves one behind that holds its output, is over when it is', async () => {
    const large = { text: 'x'.repeat(200_000) };
    expect((await run(['-c', 'exec 0<&-; sleep 60 & echo done'], large)).response).toMatchObject({
      result: { stdout: 'done\n' },
    });
  });

  test.skipIf(!existsSync('/proc/self/task'))('at the deadline it ends with all that it has started', async () => {
    const controller = new AbortController();
    const over = run(['-c', `(sleep 61 & echo $! > ${home}/pid; wait) & wait`], {}, { signal: controller.signal });
    const pid = await until(
      'its grandchild runs',
      () => existsSync(join(home, 'pid')) && readFileSync(join(home, 'pid'), 'utf8').trim(),
    );
    controller.abort();
    expect((await over).response).toMatchObject({ status: 'error' });
    await until('its grandchild is gone', () => !isAlive(pid));
  });

  test.each<[config: JsonObject, error: RegExp]>([
    [{ command: '' }, /command must be/],
    [{ args: 'a b' }, /args must be a list/],
    [{ max_output_bytes: -1 }, /max_output_bytes must be/],
    [{ command: '/nowhere/at/all' }, /cannot start \/nowhere\/at\/all/],
  ])('config %j is refused', async (config, error) => {
    expect((await run([], {}, { config })).response).toEqual({
      status: 'error',
      error: expect.stringMatching(error),
      retry: false,
    });
  });
});

describe('transform', () => {
  /** Evaluates an expression in a fresh module, as each instance has one. */
  const evaluate = async (expression: unknown, payload: JsonObject, config: JsonObject = { timeout_ms: 60_000 }) => {
    const { handle } = await importBundled<Module>(
      `transform/index.js?${encodeURIComponent(String(expression) + JSON.stringify(config))}`,
    );
    const { response } = await call('handle', handle, payload as never, {
      config: { expression: expression as never, ...config },
    });
    return response;
  };

  test.each<[expression: string, result: unknown]>([
    ['{ "total": $sum(lines.(price * count)), "names": lines.name }', { total: 25, names: ['bolt', 'nut'] }],
    ['$sum(lines.count)', { value: 8 }],
    ['lines[price > 3]', { name: 'bolt', price: 5, count: 2 }],
    ['lines[price > 3].name', { value: 'bolt' }],
    [
      'lines',
      {
        value: [
          { name: 'bolt', price: 5, count: 2 },
          { name: 'nut', price: 2.5, count: 6 },
        ],
      },
    ],
    ['gone', { value: null }],
    ['$context.depth', { value: 0 }],
  ])('%s', async (expression, result) => {
    const payload = {
      lines: [
        { name: 'bolt', price: 5, count: 2 },
        { name: 'nut', price: 2.5, count: 6 },
      ],
    };
    expect(JSON.parse(JSON.stringify((await evaluate(expression, payload)).result))).toEqual(result);
  });

  test('an expression that does not end is ended', async () => {
    const response = await evaluate('($f := function($x) { $f($x + 1) }; $f(0))', {}, { timeout_ms: 50 });
    expect(response).toEqual({ status: 'error', error: expect.stringMatching(/D1012.*50 milliseconds/), retry: false });
  });

  test.each<[what: string, expression: unknown, error: RegExp]>([
    ['one that nests without end', '($f := function($x) { 1 + $f($x) }; $f(0))', /D1011|stack/i],
    ['one that makes too much', '[1..9000000]', /sequence|D2014|D2015/i],
    ['one that is none', '{', /at \d+/],
    ['one that meets a wrong value', '$sum("text")', /T0412|array/],
    ['one that gives a function', 'function($x) { $x }', /returns a function/],
    ['one that gives a function of its own', '{ "f": [$sum] }', /returns a function/],
    ['one that gives a pattern', '{ "f": /a/ }', /returns a function/],
    ['one whose number is too large', '{ "total": $sum([1e308, 1e308]) }', /too large/],
    ['one whose value is too deep', '$reduce([1..201], function($deep, $n) { [[$deep]] })', /deeper than 200/],
    ['none', 3, /must be a string/],
  ])('%s fails for good', async (_, expression, error) => {
    const response = await evaluate(expression, {});
    expect(response).toEqual({ status: 'error', error: expect.stringMatching(error), retry: false });
  });

  test('a payload cannot change what objects are', async () => {
    const payload = JSON.parse(
      '{"__proto__": {"spoilt": true}, "constructor": {"prototype": {"spoilt": true}}}',
    ) as JsonObject;
    await evaluate('$merge([$, {"__proto__": {"spoilt": true}}])', payload);
    expect(({} as { spoilt?: boolean }).spoilt).toBeUndefined();
  });
});

test('delay waits and hands its payload on, and does not begin what it cannot end', async () => {
  const wait = async (payload: JsonObject, config: JsonObject = {}) =>
    (await call('handle', delay.handle, payload as never, { config })).response;
  expect(await wait({ delay_ms: 1, a: 1 })).toEqual({ result: { delay_ms: 1, a: 1 } });
  expect(await wait({ a: 1 }, { delay_ms: 0 })).toEqual({ result: { a: 1 } });
  expect(await wait({})).toMatchObject({ status: 'error', retry: false });
  expect(await wait({ delay_ms: 60_001 })).toMatchObject({
    error: expect.stringContaining('longer than an attempt'),
    retry: false,
  });
});

test('log writes its payload down and hands it on', async () => {
  const config = { level: 'warn', message: 'seen:' };
  expect(await call('handle', log.handle, { a: 1 }, { config })).toEqual({
    response: { result: { a: 1 } },
    logs: [{ level: 'warn', message: 'seen: {"a":1}' }],
  });
  expect((await call('handle', log.handle, {}, { config: { level: 'loud' } })).response).toMatchObject({
    status: 'error',
    retry: false,
  });
});

test('a bundled plugin needs nothing but itself, Node and jsonata', () => {
  const root = fileURLToPath(new URL('../../../plugins', import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.js'));
  const needed = files.flatMap(name =>
    [...readFileSync(join(root, name), 'utf8').matchAll(/^import .*'([^']+)';$/gm)].map(([, what]) => what!),
  );
  expect(files.length).toBeGreaterThan(5);
  expect([...new Set(needed.filter(what => !/^(node:|\.\/)/.test(what)))]).toEqual(['jsonata']);
});

describe('in a gateway', () => {
  let port = 0;
  const server = http.createServer((request, response) => request.pipe(response));
  beforeAll(async () => {
    await new Promise<void>(settle => server.listen(0, '127.0.0.1', settle));
    ({ port } = server.address() as AddressInfo);
    return () => server.close();
  });
  const gateway = shareGateway({
    roots: ['headgate:bundled'],
    instances: {
      http: {},
      intern: { uses: 'http', config: { allowed_hosts: ['127.0.0.1'] } },
      upper: { uses: 'shell', config: { command: 'tr', args: ['a-z', 'A-Z'] } },
      endless: {
        uses: 'shell',
        config: { command: 'sleep', args: ['60'] },
        timeouts: { handle: '50ms' },
        retry: { max_attempts: 1 },
      },
      drop: { uses: 'file', config: { root: home, writable: true } },
      total: {
        uses: 'transform',
        config: { timeout_ms: 60_000, expression: '{ "path": "total.json", "text": $string($sum(numbers)) }' },
      },
      log: {},
      delay: {},
    },
    pipelines: [
      {
        name: 'add-up',
        on: 'numbers.came',
        steps: [{ uses: 'log' }, { uses: 'delay', with: { delay_ms: 1 } }, { uses: 'total' }, { uses: 'drop.write' }],
      },
    ],
  });

  test('they are steps of a pipeline, in as many instances as are named', async () => {
    const run = await gateway.ran('add-up', { numbers: [1, 2, 39] });
    expect(run).toMatchObject({ status: 'succeeded', result: { result: { path: 'total.json', size: 2 } } });
    expect(readFileSync(join(home, 'total.json'), 'utf8')).toBe('42');
    expect(await gateway.finished('drop/read', { path: 'total.json' })).toMatchObject({
      result: { result: { text: '42' } },
    });
    expect(await gateway.finished('upper/handle', { a: 'b' })).toMatchObject({
      result: { result: { stdout: '{"A":"B"}\n' } },
    });
  });

  test('those that nothing names are not there', async () => {
    const { body } = await gateway.call('GET', '/plugins');
    const names = (body['plugins'] as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(['delay', 'drop', 'endless', 'http', 'intern', 'log', 'total', 'upper']);
  });

  test('http reaches a private address only where allowed_hosts names it', async () => {
    const payload = { url: `http://127.0.0.1:${port}/`, method: 'POST', text: 'hello' };
    expect(await gateway.finished('intern/handle', payload)).toMatchObject({
      status: 'succeeded',
      result: { result: { text: 'hello' } },
    });
    expect(await gateway.finished('http/handle', payload)).toMatchObject({
      status: 'failed',
      attempt: 1,
      last_error: '127.0.0.1 is not a public address (loopback); to allow it, add it to allowed_hosts',
    });
  });

  test('shell is ended at its deadline', async () => {
    expect(await gateway.finished('endless/handle')).toMatchObject({
      status: expect.stringMatching(/timed_out|dead/),
      last_error: 'timed out after 50 ms',
    });
  });
});

function isAlive(pid: string): boolean {
  const file = `/proc/${pid}/stat`;
  // State Z: the process has ended, and its parent has not asked for its status.
  return existsSync(file) && !/\) [ZX] /.test(readFileSync(file, 'latin1'));
}
