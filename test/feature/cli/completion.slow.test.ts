// Completion scripts do in a real shell what they promise; a shell that is not installed is skipped.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { scopes } from '../../../config/section/scope.ts';
import { headgate } from './headgate.ts';

/** What is typed up to the cursor, and what is offered. */
const cases: readonly (readonly [typed: string, offered: string])[] = [
  ['headgate jo', 'job'],
  ['headgate config ', 'check lock show schema'],
  ['headgate vault principal r', 'roll revoke'],
  ['headgate job list --st', '--status'],
  ['headgate job list --status ', 'queued running succeeded failed timed_out dead cancelled'],
  ['headgate job list --limit 5 --status d', 'dead'],
  ['headgate job list --plugin job --pl', '--plugin'],
  ['headgate vault principal add x --kind p', 'plugin'],
  ['headgate plugin run job ', ''],
  ['headgate completion z', 'zsh'],
  ['headgate version --', '--json --help'],
  ['headgate job list --limit ', ''],
  ['headgate job list --status=d', '--status=dead'],
  ['headgate job list --status=dead --lim', '--limit'],
  ['headgate start --config "my dir" --gr', '--grace'],
  ['headgate job rerun 0198c0de --from ', 'start failed'],
  ['headgate job rerun 0198c0de --from f', 'failed'],
  ['headgate events --url http://localhost:80 --js', '--json'],
  ['headgate stopwatch greet --compare 2', '2h..1h 2d..1d'],
  ['headgate stopwatch greet --se', '--series'],
  ['headgate job logs -- --', ''],
];

test.each(cases)('%s', async (typed, offered) => {
  const words = typed.match(/(?:"[^"]*"|\S)+|\s$/g)!.slice(1);
  const { stdout } = await headgate(['completion', 'fish', '--', ...words.map(word => word.trim())]);
  const texts = stdout.split('\n').map(line => line.split('\t')[0]!);
  expect(texts.join(' ').trim()).toBe(offered);
});

test('a path is left to the shell', async () => {
  for (const words of [
    ['start', '--config', 'x'],
    ['start', '--config=x'],
    ['plugin', 'test', ''],
    ['vault', 'audit', '--export', ''],
  ])
    expect((await headgate(['completion', 'bash', '--', ...words])).stdout).toBe('<path>\n');
});

test('subcommands are offered beside a path', async () => {
  const offered = async (word: string) => (await headgate(['completion', 'bash', '--', 'backup', word])).stdout;
  expect([await offered(''), await offered('v'), await offered('./')]).toEqual([
    'verify\n<path>\n',
    'verify\n<path>\n',
    '<path>\n',
  ]);
});

test.skipIf(!isInstalled('bash'))('bash offers paths and subcommands together', () => {
  expect(runShell('bash', ['--norc', '-eu'], [`cd /etc; ${askBash('headgate backup ')}`])[0]!.split(' ')).toEqual(
    expect.arrayContaining(['verify', 'passwd']),
  );
});

test.skipIf(!isInstalled('fish'))('fish offers paths and subcommands together', () => {
  expect(runShell('fish', ['--no-config'], [`cd /etc; ${askFish('headgate backup ')}`])[0]!.split(' ')).toEqual(
    expect.arrayContaining(['verify', 'passwd']),
  );
});

/** Cases for each shell, whose script has to pass the words and offer what is printed. */
const shellCases = cases.filter(([typed]) =>
  ['config ', '--st', '--status ', '--status d', 'job logs -- --'].some(end => typed.endsWith(end)),
);
const typedInShell = shellCases.map(([typed]) => typed);
const offeredInShell = shellCases.map(([, offered]) => offered);

test.skipIf(!isInstalled('bash'))('bash completes commands, options and their values', () => {
  expect(runShell('bash', ['--norc', '-eu'], typedInShell.map(askBash))).toEqual(offeredInShell);
});

test.skipIf(!isInstalled('bash'))(
  'bash completes behind a colon and an equals sign, where it ends a word itself',
  () => {
    const questions = ['token new ci --scope jobs:r', 'token new ci --scope=jobs:r', 'job list --status=d'];
    const offered = 'ro rw result:ro';
    expect(
      runShell(
        'bash',
        ['--norc'],
        questions.map(typed => askBash(`headgate ${typed}`)),
      ),
    ).toEqual([offered, offered, 'dead']);
  },
);

test.skipIf(!isInstalled('bash'))('bash leaves out what is behind the cursor', () => {
  const question = askBash('headgate job list').replace('COMP_POINT=17', 'COMP_POINT=14');
  expect(runShell('bash', ['--norc'], [question])).toEqual(['list logs']);
});

const askFish = (typed: string) => `echo (complete -C '${typed}' | cut -f1 | sort | string join ' ')`;

test.skipIf(!isInstalled('fish'))('fish completes commands, options and their values', () => {
  const sorted = offeredInShell.map(offered => offered.split(' ').sort().join(' '));
  expect(runShell('fish', ['--no-config'], typedInShell.map(askFish))).toEqual(sorted);
});

test.skipIf(!isInstalled('fish'))('fish offers the scope for everything, and not the files of the directory', () => {
  const [offered] = runShell('fish', ['--no-config'], [`cd /; ${askFish('headgate token new ci --scope ')}`]);
  expect(offered!.split(' ').sort()).toEqual([...scopes].sort());
});

test.skipIf(!isInstalled('fish'))('fish completes a path, also behind an equals sign', () => {
  const questions = ['headgate start --config /et', 'headgate start --config=/et'].map(askFish);
  expect(runShell('fish', ['--no-config'], questions)).toEqual(['/etc/', '--config=/etc/']);
});

test.skipIf(!isInstalled('zsh'))('zsh completes commands, options and their values', () => {
  expect(runShell('zsh', ['-f'], typedInShell.map(askZsh), zshSystem)).toEqual(offeredInShell);
});

test.skipIf(!isInstalled('zsh'))('zsh offers paths and subcommands together', () => {
  const questions = ['headgate backup ', 'headgate backup ./'].map(askZsh);
  expect(runShell('zsh', ['-f'], questions, zshSystem)).toEqual(['verify, paths', ', paths']);
});

/** Replaces the parts of zsh's completion system that the script uses; it prints what would be offered. */
const zshSystem = `
compdef() { true }
_files() { echo -n ', paths' }
_describe() { echo -n \${\${(M)\${(P)2}:#$PREFIX*}%%:*} }
`;

function askZsh(typed: string): string {
  const words = `words=(\${(z):-'${typed}'}${typed.endsWith(' ') ? " ''" : ''})`;
  return `${words}; CURRENT=$#words; PREFIX=$words[-1]; _headgate; echo`;
}

/** A call of the completion with the words that bash makes of the text: it also splits words at colons and equals signs. */
function askBash(typed: string): string {
  const words = typed.match(/(?:"[^"]*"|[^\s:=])+|[:=]+|\s$/g)!.map(word => `'${word.trim()}'`);
  const set = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}`;
  return `${set}; COMP_LINE='${typed}' COMP_POINT=${typed.length}; _headgate headgate; echo "\${COMPREPLY[*]}"`;
}

test('there is none for another shell', async () => {
  expect((await headgate(['completion', 'tcsh'])).status).toBe(2);
});

/** Runs the completion script for the shell, then each question; returns the lines of the answers. */
function runShell(shell: string, words: readonly string[], questions: readonly string[], before = ''): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-completion-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
  writeFileSync(join(directory, 'headgate'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
  const load = shell === 'fish' ? 'headgate completion fish | source' : `source <(headgate completion ${shell})`;
  writeFileSync(join(directory, 'script'), `${before}\n${load}\n${questions.join('\n')}\n`);
  const env = { ...process.env, PATH: `${directory}:${process.env['PATH']}` };
  const { stdout, stderr } = spawnSync(shell, [...words, join(directory, 'script')], { encoding: 'utf8', env });
  expect(stderr).toBe('');
  return stdout.split('\n').slice(0, -1);
}

function isInstalled(shell: string): boolean {
  return spawnSync(shell, ['-c', ':']).status === 0;
}
