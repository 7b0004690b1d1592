// The golden table of errors: every case of cases/*.txt has the exact messages for its files.
//
//   === title
//   --- config.yaml            a file; a name that ends with * is executable
//   --- plugin echo            a plugin of that name with the commands handle and health
//   --- env                    NAME=value, one a line
//   --- says                   the expected problems, or "ok" if there are none, then the warnings; ~ is the directory of the files
//
// HEADGATE_WRITE_CASES=1 replaces the expected lines with the current ones; then read the difference.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadSandbox, makeSandbox, plugin } from './sandbox.ts';

type Case = { readonly title: string; readonly body: string; readonly says: string };

const folder = new URL('cases/', import.meta.url);
const mark = '--- says\n';

function casesOf(text: string): Case[] {
  return text
    .split(/^=== /m)
    .slice(1)
    .map(part => {
      const [title, ...rest] = part.split('\n');
      const all = rest.join('\n');
      const at = all.indexOf(mark);
      return { title: title!, body: all.slice(0, at), says: all.slice(at + mark.length).trim() };
    });
}

function answerTo(body: string): string {
  const files: { [name: string]: string } = {};
  let env: { [name: string]: string } = {};
  for (const section of body.split(/^--- /m).slice(1)) {
    const end = section.indexOf('\n');
    const [name, content] = [section.slice(0, end), section.slice(end + 1)];
    if (name === 'env') env = Object.fromEntries(content.split('\n').map(line => line.split('=') as [string, string]));
    else if (name.startsWith('plugin ')) Object.assign(files, plugin(name.slice('plugin '.length)));
    else files[name] = content;
  }
  const directory = makeSandbox(files);
  const result = loadSandbox(directory, { env });
  const warnings = (result.ok ? result.config.warnings : result.warnings).map(
    line => `warning: ${line.replaceAll(directory, '~')}`,
  );
  return [...(result.ok ? ['ok'] : result.problems), ...warnings].join('\n');
}

describe.each(readdirSync(folder).sort())('%s', name => {
  const file = new URL(name, folder);
  const cases = casesOf(readFileSync(file, 'utf8'));

  it.each(cases)('$title', ({ body, says }) => {
    if (!process.env['HEADGATE_WRITE_CASES']) expect(answerTo(body)).toBe(says);
  });

  it('is written when asked for', () => {
    if (!process.env['HEADGATE_WRITE_CASES']) return;
    const parts = cases.map(({ title, body }) => `=== ${title}\n${body}${mark}${answerTo(body)}\n`);
    writeFileSync(file, parts.join('\n'));
  });
});
