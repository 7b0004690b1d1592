// The commands that look at a configuration without a service: check, show, schema, and graphs of pipelines.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema, manifestFileSchema } from '../../../config/schema-files.ts';
import { writeConfiguration } from '../../service/gateway/configuration.ts';
import { echo } from '../../service/gateway/sources.ts';
import { headgate } from './headgate.ts';

const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

test('config check ends with 0 where all is well, 1 with warnings, 78 with errors, each told with its place', async () => {
  const cwd = workshop();
  const clean = await headgate(['config', 'check', '--json'], { cwd });
  const file = join(cwd, 'config.yaml');
  expect([clean.status, clean.json]).toEqual([
    0,
    { ok: true, main_file: file, files: [file], problems: [], warnings: [] },
  ]);
  writeFileSync(join(cwd, 'plugins/echo/manifest.yaml'), 'nonsense: 1');
  const warned = await headgate(['config', 'check', '--json'], { cwd });
  expect([warned.status, warned.json.warnings.length > 0]).toEqual([1, true]);
  writeFileSync(file, 'nonsense: 1');
  const wrong = await headgate(['config', 'check', '--json'], { cwd });
  expect([wrong.status, wrong.json.ok, wrong.json.problems]).toEqual([
    78,
    false,
    [expect.stringMatching(/:1:1: nonsense: /)],
  ]);
  expect(wrong.stderr).toContain(wrong.json.problems[0]);
});

test('config check --load loads the files of worker plugins, and runs nothing of them', () => {
  const marker = 'writeFileSync(import.meta.dirname + "/ran", "")';
  const cwd = workshop({
    plugins: {
      sound: `import { writeFileSync } from 'node:fs';\nexport const handle = () => ${marker};`,
      typed: { code: 'export const handle = (): { result: string } => ({ result: "" });', entrypoint: 'index.ts' },
      broken: 'const a = 1;\nexport const handle = (;',
      mistyped: { code: 'import "./twice.ts";\nexport const handle = () => {};', entrypoint: 'index.ts' },
      lacking: { code: 'export const other = () => {};', commands: { handle: {} } },
      unpacked: 'import "not-installed";\nexport const handle = () => {};',
    },
    instances: { second: { uses: 'broken' } },
  });
  writeFileSync(join(cwd, 'plugins/mistyped/twice.ts'), 'const a = 1;\nexport const twice = (n: number;');
  const check = (...words: string[]) => {
    const command = [main, 'config', 'check', '--json', ...words];
    const { status, stdout } = spawnSync(process.execPath, command, { cwd, encoding: 'utf8' });
    return { status, ...(JSON.parse(stdout) as { ok: boolean; problems: readonly string[] }) };
  };
  expect(check()).toMatchObject({ status: 0, ok: true });
  const place = (name: string, position: string) => `${cwd}/plugins/${name}/index.mjs:${position}`;
  const { status, ok, problems } = check('--load');
  expect([status, ok]).toEqual([78, false]);
  expect(problems).toEqual([
    expect.stringMatching(`^${place('broken', '2:24')}: plugins.broken: index.mjs cannot be loaded: SyntaxError: `),
    `${place('lacking', '1:1')}: plugins.lacking: index.mjs exports no function "handle"`,
    expect.stringMatching(
      `^${cwd}/plugins/mistyped/twice.ts:2:32: plugins.mistyped: index.ts cannot be loaded: SyntaxError: `,
    ),
    expect.stringMatching(`^${place('broken', '2:24')}: plugins.second: index.mjs cannot be loaded: SyntaxError: `),
    expect.stringContaining(
      `${place('unpacked', '1:1')}: plugins.unpacked: index.mjs cannot be loaded: Cannot find package`,
    ),
  ]);
  expect(existsSync(join(cwd, 'plugins/sound/ran'))).toBe(false);
  for (const name of ['broken', 'mistyped', 'lacking', 'unpacked'])
    rmSync(join(cwd, 'plugins', name), { recursive: true });
  writeFileSync(join(cwd, 'config.yaml'), 'plugin_roots: [./plugins]');
  expect(check('--load')).toMatchObject({ status: 0, ok: true, problems: [] });
});

test('config show prints what the files give together, without anything secret', async () => {
  const cwd = workshop({ instances: { echo: { config: { api_key: 'canary', greeting: 'hello' } } } });
  const { status, stdout, json } = await headgate(['config', 'show', '--json'], { cwd });
  expect([status, json.plugins.echo.config]).toEqual([0, { api_key: '[REDACTED]', greeting: 'hello' }]);
  expect(stdout).not.toContain('canary');
  expect(json.needs_restart).toEqual(expect.arrayContaining(['api.listen', 'state.path']));
  expect(json.needs_restart).not.toContain('service.log_level');
  expect(JSON.parse((await headgate(['config', 'show'], { cwd })).stdout)).toEqual(json);
});

test('service print starts the configuration that it was given', async () => {
  const cwd = workshop();
  const unit = async (...words: string[]) =>
    (await headgate(['service', 'print', ...words], { cwd })).stdout.match(/ start --config (\S+) /)?.[1];
  expect([await unit(), await unit('--config', 'config.yaml')]).toEqual([cwd, cwd]);
  renameSync(join(cwd, 'config.yaml'), join(cwd, 'other.yaml'));
  expect(await unit('--config', 'other.yaml')).toBe(join(cwd, 'other.yaml'));
});

test('service print lets the service write its state, its backups and its exports of the audit trail', async () => {
  const cwd = workshop();
  const paths = async () =>
    (await headgate(['service', 'print'], { cwd })).stdout.match(/^ReadWritePaths=(.*)$/m)?.[1]?.split(' ');
  const [state, ...none] = (await paths())!;
  expect(none).toEqual([]);
  writeConfiguration(cwd, { backups: { every: '24h', into: './copies' }, vault: { audit_export: './audit' } });
  expect(await paths()).toEqual([state, `-${join(cwd, 'copies')}`, `-${join(cwd, 'audit')}`]);
});

test('config schema prints the schemas that are shipped', async () => {
  const printed = [await headgate(['config', 'schema', '--json']), await headgate(['config', 'schema', '--manifest'])];
  expect(printed.map(({ stdout }) => JSON.parse(stdout))).toEqual([configSchema(), manifestFileSchema()]);
});

test.each([['config show'], ['pipeline graph'], ['config lock']])(
  '%s without a configuration ends with 78',
  async line => {
    const { status, stderr, json } = await headgate([...line.split(' '), '--config', '/nonexistent', '--json']);
    expect([status, typeof json]).toEqual([78, 'object']);
    expect(stderr).toContain('/nonexistent:1:1: does not exist');
  },
);

const pipelines = [
  {
    name: 'big',
    on: 'packages.found',
    if: { path: 'payload.count', op: 'gt', value: 0 },
    steps: [
      {
        split: {
          left: [{ id: 'l1', uses: 'echo', foreach: 'payload.list', on_error: 'continue' }],
          right: [{ id: 'r1', call: 'small' }],
        },
      },
      { id: 'all', uses: 'echo.say', join: 'all', if: { not: { path: 'payload.name', op: 'eq', value: 'a "b" <c>' } } },
      { id: 'last', steps: [{ id: 's1', uses: 'echo' }] },
    ],
  },
  {
    name: 'small',
    steps: [{ uses: 'echo' }],
    on_failure: [{ id: 'tell', uses: 'echo' }],
    finally: [{ id: 'clean', uses: 'echo' }],
  },
];

// Both graphs were checked with Mermaid 11.
const big = `%% big, asynchronous
flowchart TD
  n1(["packages.found"])
  n2{"payload.count gt 0"}
  n1 --> n2
  n3[\\"split 1"/]
  n2 -->|"yes"| n3
  n4["l1<br/>echo.handle<br/>foreach payload.list<br/>on_error: continue"]
  n3 -->|"left, each"| n4
  n5[["r1<br/>call small"]]
  n3 -->|"right"| n5
  n6[/"join all"\\]
  n4 --> n6
  n5 --> n6
  n7{"not (payload.name eq #34;a #92;#34;b#92;#34; #60;c#62;#34;)"}
  n6 --> n7
  n8["all<br/>echo.say"]
  n7 -->|"yes"| n8
  n9["s1<br/>echo.handle"]
  n8 --> n9
  n7 -->|"no"| n9
  n10(["big ends"])
  n9 --> n10
  n2 -->|"no"| n10
`;

test('pipeline graph draws steps, branches, elements, joins, calls and conditions', async () => {
  const cwd = workshop({ pipelines });
  expect((await headgate(['pipeline', 'graph', 'big'], { cwd })).stdout).toBe(big);
  const { json } = await headgate(['pipeline', 'graph', '--json'], { cwd });
  expect(json.pipelines).toEqual([
    { pipeline: 'big', mermaid: big.trimEnd() },
    { pipeline: 'small', mermaid: expect.stringContaining('n1(["called by name"])') },
  ]);
  const ways = ['n2 -->|"on_failure"| n3', 'n2 -->|"finally"| n4', 'n3 -->|"finally"| n4', 'n4 --> n5'];
  for (const way of ways) expect(json.pipelines[1].mermaid).toContain(way);
});

test('pipeline graph of a pipeline that there is not ends with 4', async () => {
  const { status, json } = await headgate(['pipeline', 'graph', 'other', '--json'], { cwd: workshop({ pipelines }) });
  expect([status, json.code, json.detail]).toEqual([4, 'unknown_pipeline', expect.stringContaining('big, small')]);
});

function workshop(settings: Parameters<typeof writeConfiguration>[1] = {}): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-cli-')));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeConfiguration(directory, { plugins: { echo }, ...settings });
  return directory;
}
