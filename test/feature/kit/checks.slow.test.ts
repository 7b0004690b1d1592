// `headgate plugin test`: what it says of plugins that keep the protocol, and of each way of breaking it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { CheckFinding } from '../../../cli/plugin-test/checks.ts';
import { sampleOf } from '../../../cli/plugin-test/sample.ts';
import { makeSchemaCompiler } from '../../../runtime/json-schema.ts';
import type { JsonObject } from '../../../runtime/packing.ts';
import { headgate } from '../cli/headgate.ts';

const built = (file: string): Promise<unknown> =>
  import(new URL(`../../../dist/cli/plugin-test/${file}.js`, import.meta.url).href);
const { PluginHarness } = (await built('harness')) as typeof import('../../../cli/plugin-test/harness.ts');
const { runChecks } = (await built('checks')) as typeof import('../../../cli/plugin-test/checks.ts');
const { readPlugin } = (await built('reading')) as typeof import('../../../cli/plugin-test/reading.ts');

const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
const home = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-kit-')));
afterAll(() => rmSync(home, { recursive: true }));

const answering = (script: string): string => `#!/bin/sh\nread -r request\n${script}\n`;
const plugins: { readonly [name: string]: string } = {
  sound: 'export const handle = ({ event }) => ({ result: event.payload.text });',
  sound_sh: answering(`case $request in *'"event"'*) echo '{"status":"ok"}' ;; *) exit 3 ;; esac`),
  silent: answering('echo "cannot find it" >&2; exit 3'),
  babbling: answering('echo nonsense'),
  shapeless: answering(`echo '{"status":"fine"}'`),
  credulous: `#!/bin/sh\necho '{"status":"ok"}'\n`,
  blocking: 'export const handle = () => { for (;;); };',
  lacking: 'export const other = () => {};',
  broken: 'export const handle = (;',
  strict: `export const handle = ({ event }) => { if (event.payload.text !== 'right') throw new Error('not right'); };`,
};

function write(name: string, code: string): string {
  const directory = join(home, name);
  const entrypoint = code.startsWith('#!') ? 'run.sh' : 'index.mjs';
  mkdirSync(directory);
  writeFileSync(join(directory, entrypoint), code, { mode: 0o755 });
  const schema = '{ type: object, required: [text], properties: { text: { type: string } } }';
  const head = `manifest_spec: headgate.plugin\nname: ${name}\nversion: "1"\nprotocol: 2\nentrypoint: ${entrypoint}\n`;
  writeFileSync(join(directory, 'manifest.yaml'), `${head}commands: [{ name: handle, input_schema: ${schema} }]\n`);
  return join(directory, 'manifest.yaml');
}

describe('a plugin', () => {
  const reads = Object.entries(plugins).map(([name, code]) => readPlugin(write(name, code), {}));
  const known = reads.flatMap(read => (read.ok ? [read] : []));
  let stand: InstanceType<typeof PluginHarness>;
  beforeAll(() => {
    stand = new PluginHarness(known.flatMap(({ plugin, bare }) => [plugin, bare]));
    return () => stand.close();
  });

  const told = new Map<string, ReturnType<typeof put>>();
  /** The findings for a plugin, which is checked only once. */
  const toldOf = (name: string) => told.get(name) ?? told.set(name, put(name)).get(name)!;

  async function put(name: string, payload?: JsonObject): Promise<{ readonly [check: string]: string }> {
    const { plugin, bare } = known.find(({ plugin: { instance } }) => instance === name)!;
    const findings: CheckFinding[] = [];
    const deadlineMs = name === 'blocking' ? 100 : 30_000;
    for await (const finding of runChecks(stand, {
      plugin,
      bare,
      commands: ['handle'],
      payloads: { handle: payload },
      deadlineMs,
    }))
      findings.push(finding);
    return Object.fromEntries(
      findings.map(({ check, passed, detail }) => [check, `${passed ? 'ok' : 'FAILED'}: ${detail}`]),
    );
  }

  test('that keeps the protocol passes, and is told how', async () => {
    expect(await put('sound')).toEqual({
      'good request': expect.stringMatching(/^ok: answered ok in \d+ ms, with the result "x"$/),
      'bad request':
        "ok: its input_schema refuses an empty payload (payload must have required property 'text'); the plugin itself answered ok",
      'large request': 'ok: given 1 MiB of extra text, it answered ok',
      deadline: expect.stringMatching(/^ok: ended (within|at)/),
    });
    const program = await put('sound_sh');
    expect(program['garbage on stdin']).toBe('ok: ended with exit status 3');
    expect(Object.values(program).filter(said => !said.startsWith('ok'))).toEqual([]);
  });

  test.each<[name: string, said: RegExp]>([
    ['lacking', /^FAILED: failed: index.mjs exports no function "handle"$/],
    ['broken', /^FAILED: failed: index.mjs cannot be loaded: SyntaxError: Unexpected token ';'; at index.mjs:1:24$/],
  ])('that is %s is told so once, and no other check of the command follows', async (name, said) => {
    expect(await toldOf(name)).toEqual({ 'good request': expect.stringMatching(said) });
  });

  test.each<[name: string, check: string, said: RegExp]>([
    [
      'silent',
      'good request',
      /^FAILED: failed: no response on stdout \(exit status 3\): cannot find it; the payload was generated/,
    ],
    ['silent', 'bad request', /^FAILED: .*the plugin itself failed: no response/],
    ['babbling', 'good request', /^FAILED: failed: the response is not JSON/],
    ['shapeless', 'good request', /^FAILED: failed: invalid response: status must be/],
    ['credulous', 'garbage on stdin', /^FAILED: it answered ok to something that is not a request$/],
    ['blocking', 'good request', /^FAILED: did not answer: timed out after 100 ms/],
    ['blocking', 'deadline', /^FAILED: it blocks its thread/],
    [
      'strict',
      'good request',
      /^FAILED: failed: not right; thrown at handle \(index\.mjs:1:\d+\); the payload was generated \(\{"text":"x"\}\): keep a real one in payloads\/handle\.json, or pass it with --payload$/,
    ],
    ['strict', 'bad request', /^ok: .*the plugin itself answered with an error: not right$/],
  ])('that is %s, at a %s', async (name, check, said) => {
    expect((await toldOf(name))[check]).toMatch(said);
  });

  test('that wants a certain payload is given one', async () => {
    expect((await put('strict', { text: 'right' }))['good request']).toMatch(/^ok: answered ok/);
  });
});

describe('the command', () => {
  test('says what is wrong with a manifest, as a configuration would', async () => {
    mkdirSync(join(home, 'empty'));
    writeFileSync(join(home, 'empty/manifest.yaml'), 'name: empty\n');
    const { status, stderr, json } = await headgate(['plugin', 'test', 'empty', '--json'], { cwd: home });
    expect([status, json.ok]).toEqual([1, false]);
    expect(stderr).toContain('manifest.yaml:1:1: manifest_spec: is missing');
    expect((await headgate(['plugin', 'test', 'nowhere'], { cwd: home })).status).toBe(1);
  });

  test('uses the payload that lies beside the manifest, unless another is given', () => {
    mkdirSync(join(home, 'strict/payloads'));
    const file = join(home, 'strict/payloads/handle.json');
    onTestFinished(() => rmSync(join(home, 'strict/payloads'), { recursive: true }));
    const tried = (...words: string[]) => {
      const input = '{"text":"right"}';
      const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'plugin', 'test', 'strict', ...words], {
        cwd: home,
        encoding: 'utf8',
        input,
      });
      return { status, stdout, stderr };
    };
    writeFileSync(file, '{ "text": "right" }');
    expect(tried()).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ok .*good request: answered ok/) });
    writeFileSync(file, '{ "text": "wrong" }');
    expect(tried()).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^FAILED .*failed: not right; thrown at handle \(index\.mjs:1:\d+\)$/m),
    });
    expect(tried('--payload', '-').status).toBe(0);
    writeFileSync(file, '{ "text": ');
    expect(tried()).toMatchObject({ status: 2, stderr: expect.stringContaining(`${file} is not JSON`) });
  });

  test.each<[words: string[], said: string]>([
    [['--command', 'hande'], 'sound has no command "hande"; it has handle'],
    [['--payload', '[1]'], '--payload is [1], which is not a JSON object'],
    [['--payload', '@absent.json'], `--payload: ${home}/absent.json cannot be read`],
    [['--plugin-config', 'x'], '--plugin-config is not JSON'],
    [['--deadline-ms', '0'], 'expected a whole number from 1 to 3600000'],
  ])('refuses %j', async (words, said) => {
    const { status, stderr } = await headgate(['plugin', 'test', 'sound', ...words], { cwd: home });
    expect([status, stderr]).toEqual([2, expect.stringContaining(said)]);
  });
});

test.each<[schema: JsonObject, sample: unknown]>([
  [{}, {}],
  [
    { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } } },
    { a: 'x', b: 1 },
  ],
  [
    { type: 'object', required: ['b'], properties: { a: { type: 'string' }, b: { type: 'number', minimum: 5 } } },
    { b: 5 },
  ],
  [{ required: ['a'], properties: { a: { type: 'string', minLength: 3 } } }, { a: 'xxx' }],
  [{ required: ['a'] }, { a: {} }],
  [
    {
      properties: {
        a: { enum: ['p', 'q'] },
        b: { const: 0 },
        c: { type: 'string', default: 'd' },
        e: { examples: [7] },
      },
    },
    { a: 'p', b: 0, c: 'd', e: 7 },
  ],
  [
    { properties: { a: { type: 'array', items: { type: 'boolean' }, minItems: 2 }, b: { type: ['null', 'string'] } } },
    { a: [true, true], b: null },
  ],
  [
    { properties: { a: { $ref: '#/$defs/a~1b' } }, $defs: { 'a/b': { type: 'integer', exclusiveMinimum: 2 } } },
    { a: 3 },
  ],
  [
    {
      required: ['p'],
      properties: { p: { type: 'string' }, t: { type: 'string' } },
      oneOf: [{ required: ['t'] }, { required: ['u'] }],
    },
    { p: 'x', t: 'x' },
  ],
  [
    {
      allOf: [
        { required: ['a'], properties: { a: { type: 'string' } } },
        { required: ['b'], properties: { b: { type: 'null' } } },
      ],
    },
    { a: 'x', b: null },
  ],
  [{ const: null }, null],
  [{ type: ['null', 'string'], default: null }, null],
  [{ type: 'object', required: [], properties: { a: { type: 'string' } }, additionalProperties: false }, { a: 'x' }],
  [
    { anyOf: [{ type: 'object', required: ['a'], properties: { a: { type: 'string' } } }, { type: 'null' }] },
    { a: 'x' },
  ],
])('the sample of %j fits it', (schema, sample) => {
  expect(sampleOf(schema)).toEqual(sample);
  const compiled = makeSchemaCompiler()(schema);
  expect(compiled.ok && compiled.check(sampleOf(schema))).toEqual([]);
});

test('the sample of a schema that refers to itself ends', () => {
  expect(() => sampleOf({ required: ['a'], properties: { a: { $ref: '#' } } })).not.toThrow();
  const often = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`p${i}`, { $ref: '#' }]));
  expect(Object.keys(sampleOf({ properties: often }) as object)).toEqual(Object.keys(often));
});

test.each<JsonObject>([
  { type: 'string', minLength: 1e9 },
  { type: 'array', minItems: 1e9, items: { type: 'array', minItems: 1e9, items: { const: 'x'.repeat(1000) } } },
])('the sample of a schema that requires a huge value is small', schema => {
  expect(JSON.stringify(sampleOf(schema)).length).toBeLessThan(500_000);
});
