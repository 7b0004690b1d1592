// The command as a process: what only the process itself shows.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

test('the exit status is that of the command', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'job', 'show'], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain("missing required argument 'job_id'");
});

test('start tells why it cannot, as a document too', () => {
  const words = [main, 'start', '--config', '/nonexistent', '--json'];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  const said = stderr
    .trimEnd()
    .split('\n')
    .map(line => (JSON.parse(line) as { readonly msg: string }).msg);
  const [message] = said.filter(line => line.startsWith('/nonexistent:1:1: '));
  expect(message).toContain('does not exist');
  const document = { code: 'invalid_configuration', errors: [{ message }] };
  expect([status, JSON.parse(stdout)]).toMatchObject([78, document]);
});

test.skipIf(!existsSync('/dev/full'))('a disk that is full under stdout ends with 74, and stderr says why', () => {
  const { status, stderr } = shell('"$0" "$1" version > /dev/full');
  expect([status, stderr]).toEqual([74, expect.stringMatching(/^headgate: stdout cannot be written: ENOSPC.*\n$/)]);
});

test.skipIf(!existsSync('/dev/full'))('what stderr does not take changes no exit status', () => {
  expect(shell('"$0" "$1" job show 2> /dev/full').status).toBe(2);
});

test('a reader who has had enough is no trouble', () => {
  expect(shell('{ "$0" "$1" completion zsh; echo $? >&2; } | true').stderr).toBe('0\n');
});

test('in a directory that was removed a command runs that needs none, and another says what is wrong', () => {
  const { status, stdout, stderr } = shell(
    'cd "$(mktemp -d)" && rmdir "$PWD" && "$0" "$1" version >/dev/null && "$0" "$1" config check',
  );
  expect([status, stdout]).toEqual([74, '']);
  expect(stderr).toMatch(/^headgate: ENOENT.*uv_cwd\n$/);
});

function shell(line: string) {
  return spawnSync('sh', ['-c', line, process.execPath, main], { encoding: 'utf8' });
}
