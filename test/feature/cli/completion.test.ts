// Completion scripts do in a real shell what they promise; a shell that is not installed is skipped.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { scopes } from '../../../config/section/scope.ts';
import { headgate } from './headgate.ts';

/** What is typed up to the cursor, and what is offered. */
const cases: readonly (readonly [typed: string, offered: string])[] = [
  ['headgate jo', 'job'],
  ['headgate job ', 'list show tree logs watch'],
  ['headgate vault principal r', 'roll revoke'],
  ['headgate job list --st', '--status'],
  ['headgate job list --status ', 'queued running succeeded failed timed_out dead'],
  ['headgate job list --limit 5 --status d', 'dead'],
  ['headgate job list --plugin job --pl', '--plugin'],
  ['headgate vault principal add x --kind p', 'plugin'],
  ['headgate plugin run job ', ''],
  ['headgate completion z', 'zsh'],
  ['headgate version --', '--json --help'],
  ['headgate job list --limit ', ''],
  ['headgate job list --status=d', 'dead'],
  ['headgate job list --status=dead --lim', '--limit'],
  ['headgate start --config "my dir" --gr', '--grace'],
  ['headgate events --url http://localhost:80 --js', '--json'],
  ['headgate job logs -- --', ''],
];

test.skipIf(!isInstalled('bash'))('bash completes commands, options and their values', async () => {
  expect(
    runShell(
      ['bash', '--norc', '-eu'],
      await scriptFor('bash'),
      cases.map(([typed]) => askBash(typed)),
    ),
  ).toEqual(cases.map(([, offered]) => offered));
});

test.skipIf(!isInstalled('bash'))('bash completes behind a colon, where it ends a word itself', async () => {
  const questions = ['headgate token new ci --scope jobs:r', 'headgate token new ci --scope=jobs:r'].map(askBash);
  const offered = 'ro rw result:ro';
  expect(runShell(['bash', '--norc'], await scriptFor('bash'), questions)).toEqual([offered, offered]);
});

test.skipIf(!isInstalled('fish'))('fish completes commands, options and their values', async () => {
  const ask = (typed: string) =>
    `echo (complete -C '${typed}' | cut -f1 | string replace -r '^--.*=' '' | sort | string join ' ')`;
  const sorted = cases.map(([, offered]) => offered.split(' ').sort().join(' '));
  expect(
    runShell(
      ['fish', '--no-config'],
      await scriptFor('fish'),
      cases.map(([typed]) => ask(typed)),
    ),
  ).toEqual(sorted);
});

test.skipIf(!isInstalled('fish'))(
  'fish offers the scope for everything, and not the files of the directory',
  async () => {
    const ask = `cd /; echo (complete -C 'headgate token new ci --scope ' | cut -f1 | string join ' ')`;
    const [offered] = runShell(['fish', '--no-config'], await scriptFor('fish'), [ask]);
    expect(offered!.split(' ').sort()).toEqual([...scopes].sort());
  },
);

test.skipIf(!isInstalled('zsh'))('zsh completes commands, options and their values', async () => {
  const ask = (typed: string) =>
    `words=(\${(z):-'${typed}'}${typed.endsWith(' ') ? " ''" : ''}); CURRENT=$#words; PREFIX=$words[-1]; _headgate; echo`;
  expect(
    runShell(
      ['zsh', '-f'],
      `${zshSystem}\n${await scriptFor('zsh')}`,
      cases.map(([typed]) => ask(typed)),
    ),
  ).toEqual(cases.map(([, offered]) => offered));
});

/** zsh's completion system as far as the script uses it: what is offered is printed. */
const zshSystem = `
compdef() { true }
compset() { PREFIX=\${PREFIX#*=} }
compadd() { shift; echo -n \${(M)@:#$PREFIX*} }
_describe() { shift $(( $# - 1 )); compadd -- \${\${(P)1}%%:*} }
`;

/** With the words that bash makes of what is typed: it ends them at colons and equals signs, too. */
function askBash(typed: string): string {
  const words = typed.match(/(?:"[^"]*"|[^\s:=])+|[:=]+|\s$/g)!.map(word => `'${word.trim()}'`);
  const set = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}`;
  return `${set}; COMP_LINE='${typed}' COMP_POINT=${typed.length}; _headgate; echo "\${COMPREPLY[*]}"`;
}

test.each(['bash', 'zsh', 'fish'])('the script for %s knows every command and option', async shell => {
  const { status, json } = await headgate(['completion', shell, '--json']);
  expect([status, json.shell]).toEqual([0, shell]);
  for (const word of ['principal', 'idempotency-key', 'keep-value', 'timed_out']) expect(json.script).toContain(word);
});

test('there is none for another shell', async () => {
  expect((await headgate(['completion', 'tcsh'])).status).toBe(2);
});

async function scriptFor(shell: string): Promise<string> {
  return (await headgate(['completion', shell])).stdout;
}

/** The script, then each question; the lines that were answered. */
function runShell([shell, ...words]: readonly string[], script: string, questions: readonly string[]): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-completion-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'script'), `${script}\n${questions.join('\n')}\n`);
  const { stdout, stderr } = spawnSync(shell!, [...words, join(directory, 'script')], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').slice(0, -1);
}

function isInstalled(shell: string): boolean {
  return spawnSync(shell, ['-c', ':']).status === 0;
}
