// The tree of commands: each is described, shown by an example that fits it, and answers in JSON.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { commands } from '../../../cli/commands.ts';
import { processIo } from '../../../cli/io.ts';
import { makeProgram } from '../../../cli/program.ts';
import { withoutTemplates } from '../../laws/house.ts';
import { headgate } from './headgate.ts';

type Command = ReturnType<typeof makeProgram>;

const program = makeProgram(commands, processIo(), () => {});

const wanted = [
  'start status top doctor reload events stopwatch init whoami version',
  'config: check lock show schema',
  'plugin: list run new',
  'pipeline: list run graph',
  'job: list show tree logs watch',
  'vault: init audit rotate-key reset-admin-token',
  'vault principal: add roll revoke purge',
  'vault secret: set roll revoke',
  'token: new',
  'completion: bash zsh fish',
].flatMap(line => {
  const [group, names] = line.includes(': ') ? line.split(': ') : ['', line];
  return names!.split(' ').map(name => (group === '' ? [name] : [...group!.split(' '), name]));
});

test.each(wanted.map(path => [path.join(' '), path] as const))('there is a command %s', (_, path) => {
  expect(find(path)?.commands).toEqual([]);
});

test('every group and every command says what it does', () => {
  expect(everyCommand(program).filter(one => one.description().trim() === '')).toEqual([]);
});

test('no two commands have the same words', () => {
  const usages = commands.map(({ usage }) => wordsOf(usage).join(' '));
  expect(new Set(usages).size).toBe(usages.length);
});

test.each(commands.map(declaration => [wordsOf(declaration.usage).join(' '), declaration] as const))(
  '%s has --json, and its examples are calls of it with options that it has',
  (path, { examples }) => {
    const one = find(path.split(' '))!;
    const known = one.options.map(option => option.long);
    expect(known).toContain('--json');
    for (const example of examples) {
      expect(example).toContain(`headgate ${path}`);
      const given = example.match(/(?<=\s)--[a-z-]+/g) ?? [];
      expect(given.filter(flag => !known.includes(flag))).toEqual([]);
    }
  },
);

test('--help shows description, options and examples', async () => {
  const { status, stdout, stderr } = await headgate(['job', 'tree', '--help']);
  expect([status, stderr]).toEqual([0, '']);
  for (const part of [
    'Usage: headgate job tree [options] <job_id>',
    'with statuses and durations',
    '--json',
    'Example:',
  ])
    expect(stdout).toContain(part);
});

test.each(
  everyCommand(program)
    // A command with arguments and subcommands, such as `backup`, is tested as a command.
    .filter(one => one.commands.length > 0 && one.registeredArguments.length === 0)
    .map(one => [pathOf(one)] as const),
)('%s --help has an example, which is a call of one of its commands', async path => {
  const { status, stdout } = await headgate([...path.split(' '), '--help']);
  const [, example = ''] = /\nExample:\n {2}(.*)\n$/.exec(stdout) ?? [];
  expect([status, example]).toEqual([0, expect.stringContaining(`headgate ${path} `)]);
  const words = example.slice(example.indexOf('headgate ')).replace(/[)]$/, '').split(' ').slice(1);
  const called = [4, 3, 2].map(count => find(words.slice(0, count))).find(one => one !== undefined);
  expect(called?.commands).toEqual([]);
  const known = called!.options.map(({ long }) => long);
  expect(words.filter(word => word.startsWith('--') && !known.includes(word))).toEqual([]);
});

test.each(['pending', 'ok', 'error', 'dead'])('--status takes %s, as the API does', async status => {
  for (const list of ['list', 'logs']) {
    const outcome = await headgate(['job', list, '--status', status, '--url', 'http://127.0.0.1:1']);
    expect([outcome.status, outcome.stderr]).toEqual([69, expect.stringContaining('cannot reach')]);
  }
});

test.each([
  ['no command', []],
  ['a group without a command', ['job']],
  ['an unknown command', ['jbo']],
  ['an unknown option', ['version', '--frobnicate']],
  ['a missing argument', ['job', 'show']],
  ['an argument too many', ['version', 'now']],
  ['a value out of range', ['job', 'list', '--limit', '201']],
  ['a value that is none of the choices', ['job', 'list', '--status', 'green']],
  ['a duration without unit', ['start', '--grace', '30']],
  ['a duration that no timer can wait', ['start', '--grace', '25d', '--config', '/nonexistent']],
  ['a time that is none', ['stopwatch', 'x', '--since', 'yesterday']],
  ['a month that is none', ['schedule', 'next', '@daily', '--from', '2026-13-01T00:00:00Z']],
  ['a day that its month does not have', ['job', 'logs', '--from', '2026-02-30T00:00:00Z']],
  ['a time without a zone', ['restore', '/x', '--until', '2026-11-28T09:41:00', '--into', '/y']],
  ['a window with a day that does not exist', ['stopwatch', 'x', '--compare', '2026-02-30T00:00:00Z..1h']],
  ['a window without an end', ['stopwatch', 'x', '--compare', '2h']],
  ['a window with a time that is none', ['stopwatch', 'x', '--compare', '2h..noon']],
  ['two names of one option', ['stopwatch', 'x', '--since', '2h', '--from', '1h']],
  ['a comparison that is plotted', ['stopwatch', 'x', '--compare', '2h..1h', '--series']],
  ['a missing mandatory option', ['token', 'new', 'ci']],
  ['an unknown scope', ['token', 'new', 'ci', '--scope', 'all']],
])('%s ends with 2, and nothing on stdout', async (_, words) => {
  const { status, stdout, stderr } = await headgate(words);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).not.toBe('');
});

test('a time so far back that no clock has it is the beginning of all', async () => {
  const { status, stderr } = await headgate(['job', 'logs', '--from', '999999999d', '--url', 'http://127.0.0.1:1']);
  expect([status, stderr]).toEqual([69, expect.stringContaining('cannot reach the service')]);
});

test('wrong use with --json is a problem document on stdout', async () => {
  const { status, json } = await headgate(['job', 'lst', '--json']);
  expect([status, json.code]).toEqual([2, 'usage']);
  expect(json.detail).toContain("unknown command 'lst'");
});

test('version prints the version', async () => {
  const { status, stdout } = await headgate(['version']);
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  expect((await headgate(['version', '--json'])).json).toEqual({ version: stdout.trim() });
});

test('a new token is printed once, with what the configuration needs for it', async () => {
  const { status, json, stderr } = await headgate([
    'token',
    'new',
    'ci-2',
    '--scope',
    '*',
    '--scope',
    'jobs:ro',
    '--json',
  ]);
  expect([status, json.scopes, json.variable]).toEqual([0, ['*', 'jobs:ro'], 'HEADGATE_TOKEN_CI_2']);
  expect(json.token).toMatch(/^hg_[\w-]{32}$/);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how variables are written
  expect(json.entry).toBe('{ name: "ci-2", token: "${HEADGATE_TOKEN_CI_2}", scopes: ["*","jobs:ro"] }');
  expect(stderr).not.toContain(json.token);
});

test('what one command needs is not loaded for the others', () => {
  const [loaded, packages] = [new Set<string>(), new Set<string>()];
  const load = (file: string): void => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const [, name] of withoutTemplates(readFileSync(file, 'utf8')).matchAll(
      /^(?:import|\}) (?!type\b).*?'(.+)';$/gm,
    )) {
      if (name!.startsWith('.')) load(resolve(dirname(file), name!));
      else if (!name!.startsWith('node:')) packages.add(name!);
    }
  };
  load(fileURLToPath(new URL('../../../cli/main.ts', import.meta.url)));
  expect([...packages].sort()).toEqual(['commander']);
  expect([...loaded].filter(file => /\/(http|actors)\//.test(file))).toEqual([]);
});

function find(path: readonly string[]): Command | undefined {
  return path.reduce<Command | undefined>((at, word) => at?.commands.find(one => one.name() === word), program);
}

function pathOf(one: Command): string {
  return one.parent?.parent ? `${pathOf(one.parent)} ${one.name()}` : one.name();
}

function everyCommand(from: Command): Command[] {
  return from.commands.flatMap(one => [one, ...everyCommand(one)]);
}

function wordsOf(usage: string): string[] {
  return usage.split(' ').filter(word => /^\w/.test(word));
}
