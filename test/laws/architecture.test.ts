// ARCHITECTURE.md is short, and the files that it names exist.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(`${root}ARCHITECTURE.md`, 'utf8');

/** The rows of the table below a heading, as their cells. */
function tableBelow(heading: string): string[][] {
  const section = page.split(/^## /m).find(text => text.startsWith(heading)) ?? '';
  const rows = section.split('\n').filter(line => line.startsWith('|'));
  return rows.slice(2).map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  );
}

test('it has at most 150 lines', () => {
  expect(page.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});

test('each path that it names is there', () => {
  const named = [...page.matchAll(/`((?:[a-z-]+\/)+(?:[\w.-]+\.(?:ts|md|js))?)`/g)].map(match => match[1]!);
  expect(named.length).toBeGreaterThan(20);
  const roots = ['', 'actors/job/', 'actors/pipeline/', 'runtime/', 'http/', 'test/', 'test/service/simulation/'];
  expect(named.filter(path => !roots.some(base => existsSync(root + base + path)))).toEqual([]);
});

test("an attempt's end has at most five forms from handler to disk, and its bytes are copied at most six times", () => {
  const rows = tableBelow("An attempt's end");
  expect(rows.length).toBeGreaterThan(2);
  expect(rows.length).toBeLessThanOrEqual(5);
  const copies = rows.reduce((sum, row) => sum + Number.parseInt(row[3]!, 10), 0);
  expect(copies).toBeLessThanOrEqual(6);
  const missing = rows.filter(([, form, file]) => {
    const source = readFileSync(root + file!.replaceAll('`', ''), 'utf8');
    return [...form!.matchAll(/`(\w+)`/g)].some(([, name]) => !new RegExp(`\\b${name}\\b`).test(source));
  });
  expect(missing).toEqual([]);
});

test('the bytes of a payload are copied at most six times from the call to the handler', () => {
  const rows = tableBelow('A payload,');
  expect(rows.map(([number]) => number)).toEqual(['1', '2', '3', '4', '5']);
  expect(rows.reduce((sum, row) => sum + Number.parseInt(row[3]!, 10), 0)).toBeLessThanOrEqual(6);
  expect(rows.filter(row => !existsSync(root + row[2]!.replaceAll('`', '')))).toEqual([]);
});

test('ten questions are answered', () => {
  const answers = page.split('## Ten questions')[1] ?? '';
  expect(answers.match(/^\d+\. \*\*.+\?\*\* .+/gm)).toHaveLength(10);
});
