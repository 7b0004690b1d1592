// Discovery, manifests and instances of plugins that are right.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { instanceNamed } from '../../../config/config.ts';
import { expandSchema } from '../../../config/plugin/input-schema.ts';
import { makeSchemaCompiler } from '../../../runtime/json-schema.ts';
import { loaded, loadSandbox, makeSandbox, plugin } from './sandbox.ts';

const head = 'manifest_spec: headgate.plugin\nname: a\nversion: 1.2.0\nprotocol: 2\n';
const commands = 'commands: [{ name: handle }]\n';

function manifestOf(text: string, entry: string) {
  const config = loaded({ 'config.yaml': '', 'plugins/a/manifest.yaml': text, [`plugins/a/${entry}*`]: '' });
  expect(config.warnings).toEqual([]);
  return instanceNamed(config, 'a')!.manifest;
}

describe('discovery', () => {
  it('searches roots recursively, through links, once, and not inside of plugins', () => {
    const directory = makeSandbox({
      'config.yaml': 'plugin_roots: [plugins, elsewhere]',
      ...plugin('one'),
      'plugins/group/deep/two/manifest.yaml': `${head.replace('name: a', 'name: two')}entrypoint: i.js\n${commands}`,
      'plugins/group/deep/two/i.js': '',
      'plugins/one/fixtures/three/manifest.yaml': 'name: three',
      'elsewhere/x': '',
    });
    symlinkSync(join(directory, 'plugins/group'), join(directory, 'elsewhere/again'));
    symlinkSync(directory, join(directory, 'plugins/group/circle'));
    const result = loadSandbox(directory);
    expect(result.ok && Object.keys(result.config.plugins)).toEqual(['one', 'two']);
    expect(result.ok && result.config.warnings).toEqual([]);
  });
});

describe('a manifest', () => {
  it.each([
    ['index.js', 'worker'],
    ['index.mjs', 'worker'],
    ['index.ts', 'worker'],
    ['index.cjs', 'process'],
    ['run.py', 'process'],
    ['run', 'process'],
  ])('has a runtime by the extension: %s is a %s', (entry, runtime) => {
    expect(manifestOf(`${head}entrypoint: ${entry}\n${commands}`, entry).runtime).toBe(runtime);
    const ductile = `${head.replace('headgate', 'ductile')}entrypoint: ${entry}\nruntime: worker\n${commands}`;
    expect(manifestOf(ductile, entry)).toMatchObject({ runtime: 'process', dialect: 'ductile' });
  });

  it('can say the runtime, and that processes stay', () => {
    const text = `${head}entrypoint: i.js\nruntime: process\nmode: persistent\nmax_jobs: 100\nmax_age: 1h\n${commands}`;
    expect(manifestOf(text, 'i.js')).toMatchObject({
      runtime: 'process',
      persistent: { jobsMax: 100, ageMs: 3_600_000 },
    });
    expect(manifestOf(`${head}entrypoint: i.js\n${commands}`, 'i.js')).not.toHaveProperty('persistent');
  });

  it('can ask for a sandbox', () => {
    const text = `${head}entrypoint: run\nsandbox: bwrap\n${commands}`;
    expect(manifestOf(text, 'run')).toMatchObject({ sandbox: 'bwrap' });
    expect(manifestOf(text.replace('bwrap', 'none'), 'run')).not.toHaveProperty('sandbox');
  });

  it('keeps what its commands say, with defaults', () => {
    const manifest = manifestOf(
      `${head}entrypoint: i.js
description: Resizes.
commands:
  - name: handle
    type: read
    description: One image.
    input_schema: { width: integer, path: string }
    output_schema: { type: object }
    idempotent: true
    retry_safe: false
    values: { consume: [payload.path], emit: [{ event: image.resized, values: [payload.path] }] }
  - name: other
config_keys: { optional: [quality] }
`,
      'i.js',
    );
    expect(manifest).toMatchObject({ name: 'a', version: '1.2.0', description: 'Resizes.', concurrencySafe: true });
    expect(manifest.configKeys).toEqual({ required: [], optional: ['quality'] });
    expect(manifest.commands).toEqual([
      {
        name: 'handle',
        type: 'read',
        description: 'One image.',
        inputSchema: { type: 'object', properties: { width: { type: 'integer' }, path: { type: 'string' } } },
        outputSchema: { type: 'object' },
        idempotent: true,
        retrySafe: false,
        consume: ['payload.path'],
        emit: [{ event: 'image.resized', values: ['payload.path'] }],
      },
      {
        name: 'other',
        type: 'write',
        description: null,
        inputSchema: null,
        outputSchema: null,
        idempotent: false,
        retrySafe: true,
        consume: [],
        emit: [],
      },
    ]);
  });

  it('takes a version that YAML reads as a number as it is written', () => {
    expect(manifestOf(`${head.replace('1.2.0', '1.10')}entrypoint: i.js\n${commands}`, 'i.js').version).toBe('1.10');
  });

  it('resolves links of the entrypoint, and refuses those that lead out', () => {
    const directory = makeSandbox({
      'config.yaml': '',
      'plugins/a/manifest.yaml': `${head}entrypoint: run\n${commands}`,
      'plugins/a/bin/real*': '',
      'outside*': '',
    });
    symlinkSync('bin/real', join(directory, 'plugins/a/run'));
    const inside = loadSandbox(directory);
    expect(inside.ok && instanceNamed(inside.config, 'a')?.manifest.entrypoint).toBe(
      join(directory, 'plugins/a/bin/real'),
    );
    mkdirSync(join(directory, 'plugins/b'));
    const other = `${head.replace('name: a', 'name: b')}entrypoint: run\n${commands}`;
    writeFileSync(join(directory, 'plugins/b/manifest.yaml'), other);
    symlinkSync('../../outside', join(directory, 'plugins/b/run'));
    const result = loadSandbox(directory);
    expect(result.ok && Object.keys(result.config.plugins)).toEqual(['a']);
    expect(result.ok && result.config.warnings[0]).toMatch(
      /entrypoint: leads to .*\/outside; it must be inside .*\/plugins\/b; until then the plugin "b" is not loaded$/,
    );
  });
});

describe('the short form of a schema', () => {
  const short = (fields: object) => ({ ok: true, schema: { type: 'object', properties: fields } });
  const full = (schema: object) => ({ ok: true, schema });
  it.each([
    [{ width: 'integer' }, short({ width: { type: 'integer' } })],
    [{ type: 'string', path: 'string' }, short({ type: { type: 'string' }, path: { type: 'string' } })],
    [{ type: 'string' }, short({ type: { type: 'string' } })],
    [{ type: 'array' }, full({ type: 'array' })],
    [{ title: 'string', format: 'any' }, short({ title: { type: 'string' }, format: {} })],
    [{}, full({})],
    [{ type: 'object' }, full({ type: 'object' })],
    [{ $ref: '#/x' }, full({ $ref: '#/x' })],
    [{ description: 'Any payload.' }, full({ description: 'Any payload.' })],
    [{ type: 'object', properties: {} }, full({ type: 'object', properties: {} })],
    [{ width: { type: 'integer' } }, full({ width: { type: 'integer' } })],
  ])('%j', (written, expected) => {
    expect(expandSchema(written as never, 'headgate')).toEqual(expected);
  });

  it('refuses unknown types, but not of plugins that run unmodified', () => {
    expect(expandSchema({ at: 'timestamp' }, 'headgate')).toMatchObject({ ok: false, key: 'at' });
    expect(expandSchema({ at: 'timestamp' }, 'ductile')).toEqual(short({ at: { description: 'timestamp' } }));
  });
});

describe('schemas', () => {
  it('run patterns in linear time, and point at what is wrong', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } }, required: ['b'] };
    const compiled = makeSchemaCompiler()(schema);
    if (!compiled.ok) throw new Error(compiled.message);
    // A backtracking engine would practically never end.
    const found = compiled.check({ a: `${'a'.repeat(50_000)}!`, b: 1 });
    expect(found.map(({ pointer, keyword }) => [pointer, keyword])).toEqual([['/a', 'pattern']]);
    expect(compiled.check({ a: 'aa' })).toMatchObject([{ pointer: '', keyword: 'required' }]);
    expect(compiled.check({ a: 'aa', b: 1 })).toEqual([]);
  });

  it('take draft-07 and 2020-12, stop at the first mismatch, and see own properties only', () => {
    const compile = makeSchemaCompiler();
    const draft7 = compile({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' });
    expect(draft7.ok).toBe(true);
    const compiled = compile({ required: ['constructor', 'x'] });
    expect(compiled.ok && compiled.check({}).length).toBe(1);
  });
});

describe('instances', () => {
  it('have own config over a chain of uses, with default deadlines and retries', () => {
    const config = loaded({
      'config.yaml': `plugins:
  loud: { uses: echo, config: { greeting: HELLO }, timeouts: { handle: 30s } }
  louder: { uses: loud, retry: { max_attempts: 1, backoff_base: 0s, backoff_max: 1m } }
  base: { uses: echo, enabled: false }
  built: { uses: base }
`,
      ...plugin('echo', '  - name: poll\n  - name: sync\n'),
    });
    expect(Object.keys(config.plugins)).toEqual(['built', 'echo', 'loud', 'louder']);
    expect(config.plugins['echo']).toMatchObject({
      config: {},
      parallelism: null,
      deadlineMs: { handle: 120_000, health: 10_000, poll: 60_000, sync: 60_000 },
      retry: { attemptsMax: 4, backoffBaseMs: 5000, backoffMaxMs: 600_000 },
    });
    expect(config.plugins['loud']).toMatchObject({
      manifest: { name: 'echo' },
      config: { greeting: 'HELLO' },
      deadlineMs: { handle: 30_000, health: 10_000 },
    });
    expect(config.plugins['louder']).toMatchObject({
      config: {},
      deadlineMs: { handle: 120_000 },
      retry: { attemptsMax: 1, backoffBaseMs: 0, backoffMaxMs: 60_000 },
    });
  });

  it('run one at once when the plugin is not concurrency_safe', () => {
    const config = loaded({ 'config.yaml': '', ...plugin('echo', 'concurrency_safe: false\n') });
    expect(config.plugins['echo']?.parallelism).toBe(1);
  });

  it('named with nothing behind them are enabled with an empty config', () => {
    const config = loaded({ 'config.yaml': 'plugins:\n  echo:\n', ...plugin('echo') });
    expect(config.plugins['echo']?.config).toEqual({});
  });
});
