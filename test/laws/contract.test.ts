// The code cites docs/contract.md by anchors that exist, and no document outside of the repository. docs/words.md stays short.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readHouse } from './house.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const termsMax = 40;

/** The anchors that GitHub makes from the headings of the page. */
const anchors = new Set(
  [...read('contract.md').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  ),
);

test('every citation of the contract names an anchor that exists, and nothing else is cited by section', () => {
  const files = readHouse(root);
  const cited = files.flatMap(({ text }) => [...text.matchAll(/docs\/contract\.md#[\w-]+/g)]);
  expect(cited.length).toBeGreaterThan(20);
  expect(files.flatMap(({ path, text }) => wrongCitations(text).map(wrong => `${path}: ${wrong}`))).toEqual([]);
});

test.each([
  ['an anchor that does not exist', '// See docs/contract.md#', 'nowhere', 'nowhere'],
  ['a document outside of the repository', '// As agreed (', 'interface, 4.1)', 'interface'],
  ['another one', '/** Final (', 'decisions; section 5) */', 'decisions'],
])('the checker catches %s', (_, before, after, wrong) => {
  expect(wrongCitations(before + after)).toEqual([wrong]);
});

test('docs/words.md has one sentence for each term', () => {
  const rows = read('words.md')
    .split('\n')
    .filter(line => line.startsWith('| **'));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.length).toBeLessThanOrEqual(termsMax);
});

function wrongCitations(text: string): string[] {
  const dangling = [...text.matchAll(/docs\/contract\.md#([\w-]+)/g)].filter(([, anchor]) => !anchors.has(anchor!));
  const foreign = [...text.matchAll(/\((interface|decisions)[,;)]/g)];
  return [...dangling, ...foreign].map(([, name]) => name!);
}

function read(page: string): string {
  return readFileSync(`${root}docs/${page}`, 'utf8');
}
