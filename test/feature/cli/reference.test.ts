// docs/cli.md: what the commands declare, and nothing else.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commands } from '../../../cli/commands.ts';
import { exitStatus } from '../../../cli/exit-status.ts';
import { cliPage } from '../../../packaging/reference/cli.ts';

const page = cliPage(commands);

test('docs/cli.md is not stale (npm run reference writes it)', () => {
  const file = new URL('../../../docs/cli.md', import.meta.url);
  if (process.env['HEADGATE_WRITE_REFERENCE']) writeFileSync(file, page);
  expect(readFileSync(file, 'utf8')).toBe(page);
});

test('it tells of every command and every exit status', () => {
  for (const { usage, description } of commands) {
    expect(page).toContain(`\n## ${usage}\n\n${description[0]!.toUpperCase()}${description.slice(1)}`);
    expect(description).not.toMatch(/\.$/);
  }
  for (const status of Object.values(exitStatus)) expect(page).toContain(`\n| ${status} | `);
});
