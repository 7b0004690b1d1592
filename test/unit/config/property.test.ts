// What holds for every input: merging is associative, variables are values, loading never throws, quantities round-trip.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how variables are written

import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { ConfigProblem } from '../../../config/check/problem.ts';
import { loadConfig } from '../../../config/load.ts';
import { parseDuration, parseListen, parseSize } from '../../../config/quantity.ts';
import { parseTree } from '../../../config/source/document.ts';
import { digestBytes, type Files } from '../../../config/source/files.ts';
import { interpolate, interpolateTree } from '../../../config/source/interpolation.ts';
import { mergeTrees } from '../../../config/source/merge.ts';
import { plainValue, type SourceNode } from '../../../config/source/tree.ts';
import type { Json } from '../../../runtime/packing.ts';
import { cyclesOf } from '../../support/deep.ts';
import { fc } from '../../support/seed.ts';

const key = fc.constantFrom('a', 'b', 'c');
const tree = fc.letrec<{ node: unknown; map: unknown }>(tie => ({
  node: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, 0, 1, false, '', 'x'),
    fc.array(fc.nat(3), { maxLength: 3 }),
    tie('map'),
  ),
  map: fc.dictionary(key, tie('node'), { maxKeys: 3 }),
})).map;

function treeOf(value: unknown): SourceNode {
  return parseTree('x.yaml', Buffer.from(JSON.stringify(value))).root!;
}

function merge(a: SourceNode, b: SourceNode, problems: ConfigProblem[] = []): SourceNode {
  return mergeTrees(a, b, problem => problems.push(problem));
}

/** A disk that holds a configuration and the manifest of one plugin. */
function diskOf(config: Uint8Array, manifest: Uint8Array): Files {
  const files = new Map([
    ['/x/config.yaml', config],
    ['/x/plugins/echo/manifest.yaml', manifest],
    ['/x/plugins/echo/index.js', Buffer.from('')],
  ]);
  const lists = new Map([
    ['/x/plugins', ['echo']],
    ['/x/plugins/echo', ['index.js', 'manifest.yaml']],
  ]);
  return {
    read: path => files.get(path)!,
    head: path => files.get(path)!,
    digest: path => digestBytes(files.get(path)!),
    list: path => lists.get(path) ?? [],
    kind: path => (files.has(path) ? 'file' : lists.has(path) ? 'directory' : 'missing'),
    realpath: path => path,
    isExecutable: () => true,
    mode: () => 0o644,
  };
}

describe('merging', () => {
  it('is associative where nothing conflicts', () => {
    let without = 0;
    fc.assert(
      fc.property(tree, tree, tree, (a, b, c) => {
        const problems: ConfigProblem[] = [];
        const [x, y, z] = [treeOf(a), treeOf(b), treeOf(c)];
        const left = merge(merge(x, y, problems), z, problems);
        const right = merge(x, merge(y, z, problems), problems);
        if (problems.length > 0) return;
        without++;
        expect(plainValue(left)).toEqual(plainValue(right));
      }),
      { numRuns: cyclesOf({ deep: 300, quick: 100 }) },
    );
    expect(without).toBeGreaterThan(20);
  });

  it('with an empty file changes nothing, and with itself only doubles lists', () => {
    fc.assert(
      fc.property(tree, a => {
        expect(plainValue(merge(treeOf(a), treeOf({})))).toEqual(a);
        expect(plainValue(merge(treeOf({}), treeOf(a)))).toEqual(a);
        const problems: ConfigProblem[] = [];
        merge(treeOf(a), treeOf(a), problems);
        expect(problems).toEqual([]);
      }),
    );
  });
});

describe('variables', () => {
  const shape = (node: SourceNode): Json => {
    if (node.kind === 'scalar') return 'scalar';
    if (node.kind === 'list') return node.items.map(shape);
    return Object.fromEntries([...node.entries].map(([name, entry]) => [name, shape(entry.value)]));
  };
  const nasty = fc.oneof(
    fc.string(),
    fc.constantFrom('{ a: 1 }', '[1]', '- a', 'a: b', '"', "'", '\n- x', '*a', '&a b', '!!map', '${X}', '# c', '|'),
  );

  it('never change the structure, whatever they hold', () => {
    const text = 'a: ${X}\nb: "${X}"\nc: [ "${X:-d}", x ]\nd: |\n  ${X}\ne: pre ${X} post\n';
    const { root } = parseTree('x.yaml', Buffer.from(text));
    fc.assert(
      fc.property(nasty, value => {
        const problems: ConfigProblem[] = [];
        const result = interpolateTree(root!, { X: value }, problem => problems.push(problem));
        expect(problems).toEqual([]);
        expect(shape(result)).toEqual(shape(root!));
        expect(plainValue(result)).toMatchObject({ b: value, d: `${value}\n`, e: `pre ${value} post` });
      }),
    );
  });

  it('are replaced once: what comes from the environment is not looked into', () => {
    expect(interpolate('${A}', { A: '${B}', B: 'x' }).text).toBe('${B}');
  });

  it('stay out of text where every ${ is written $${', () => {
    const text = fc.string({ unit: fc.constantFrom('$', '{', '}', 'a', ':', '-') });
    fc.assert(
      fc.property(text, raw => {
        const escaped = raw.replaceAll('${', () => '$${');
        expect(interpolate(escaped, {})).toEqual({ text: raw, problems: [] });
      }),
    );
  });
});

describe('loading', () => {
  const echo = `manifest_spec: headgate.plugin
name: echo
version: 1.0.0
protocol: 2
entrypoint: index.js
commands: [{ name: handle }]
`;
  const line = /^\/x\/(config\.yaml|plugins\/echo\/manifest\.yaml):\d+:\d+: ./;
  const check = (config: Uint8Array, manifest: Uint8Array = Buffer.from(echo)): void => {
    const disk = diskOf(config, manifest);
    const result = loadConfig({ path: '/x/config.yaml', env: { A: 'b' }, cwd: '/', processors: 1, disk });
    const lines = result.ok ? result.config.warnings : [...result.problems, ...result.warnings];
    for (const said of lines) expect(said).toMatch(line);
  };
  const words = fc.constantFrom(null, true, 0, -1.5, '', 'x', 'echo', '${A}', '${NOT}', '127.0.0.1:0', '5s', 'object');
  const valueWith = (keys: readonly string[]) =>
    fc.letrec<{ node: unknown }>(tie => ({
      node: fc.oneof(
        { maxDepth: 4 },
        words,
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...keys), tie('node'), { maxKeys: 4 }),
      ),
    })).node;

  it('never throws for any bytes, and every problem has its place', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 60 }),
          fc.string().map(text => Buffer.from(text)),
        ),
        bytes => {
          check(bytes);
          check(Buffer.from(''), bytes);
        },
      ),
      { numRuns: cyclesOf({ deep: 300, quick: 100 }) },
    );
  });

  it('never throws for any YAML, also with known keys in wrong shapes', () => {
    const names = ['include', 'service', 'state', 'api', 'webhooks', 'tokens', 'plugin_roots', 'plugins', 'pipelines'];
    const inner = ['name', 'path', 'listen', 'auth', 'tokens', 'endpoints', 'echo', 'uses', 'config', 'steps', 'if'];
    const documents = fc.dictionary(fc.constantFrom(...names, 'zzz'), valueWith(inner), { maxKeys: 5 });
    fc.assert(
      fc.property(documents, document => check(Buffer.from(stringify(document)))),
      { numRuns: cyclesOf({ deep: 500, quick: 150 }) },
    );
  });

  it('never throws for any manifest', () => {
    const names = ['manifest_spec', 'name', 'runtime', 'entrypoint', 'commands', 'config_keys', 'mode', 'version'];
    const inner = ['name', 'type', 'input_schema', 'values', 'emit', 'required', 'properties', 'pattern', '$ref'];
    const keys = fc.dictionary(fc.constantFrom(...names), valueWith(inner), { maxKeys: 5 });
    const schemas = valueWith(inner);
    fc.assert(
      fc.property(keys, schemas, (manifest, schema) => {
        check(Buffer.from(''), Buffer.from(stringify(manifest)));
        const commands = [{ name: 'handle', input_schema: schema }];
        const known = {
          manifest_spec: 'headgate.plugin',
          name: 'echo',
          version: '1',
          protocol: 2,
          entrypoint: 'index.js',
        };
        check(Buffer.from(''), Buffer.from(stringify({ ...known, commands })));
      }),
      { numRuns: cyclesOf({ deep: 300, quick: 100 }) },
    );
  });
});

describe('quantities', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['0s', 0],
    ['5', undefined],
    ['1.5s', undefined],
    ['5 s', undefined],
    ['', undefined],
  ])('duration %j is %j', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each([
    ['512KB', 524_288],
    ['1MB', 1_048_576],
    ['1GB', 1_073_741_824],
    ['100', 100],
    [100, 100],
    [1.5, undefined],
    [0, undefined],
    ['0', undefined],
    ['1mb', undefined],
    ['1MiB', undefined],
    // More than the system accepts as a limit.
    ['1000000000GB', undefined],
  ])('size %j is %j', (text, bytes) => expect(parseSize(text)).toBe(bytes));

  it.each([
    ['127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
    ['::1:80', undefined],
    [':80', undefined],
    ['a:65536', undefined],
    ['a:-1', undefined],
  ])('address %j is %j', (text, listen) => expect(parseListen(text)).toEqual(listen));

  it('of any text is a number or nothing', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        for (const value of [parseDuration(text), parseSize(text)]) {
          expect(value === undefined || Number.isFinite(value)).toBe(true);
        }
      }),
    );
  });
});
