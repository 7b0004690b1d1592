// Each title of the suite is a sentence of sentences.ts; sentences without a test are printed.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Section, sections } from './sentences.ts';

const directory = new URL('.', import.meta.url);

/** The titles of the tests in a file, as its source has them. */
function titlesOf(file: string): string[] {
  const text = readFileSync(new URL(file, directory), 'utf8');
  return [...text.matchAll(/^ *test\(\s*(['"])(.+?)\1,/gm)].map(match => match[2]!);
}

function tell({ number, file, sentences }: Section): string[] {
  const titles = titlesOf(`${file}.test.ts`);
  const untested = sentences.filter(sentence => !titles.includes(sentence));
  return [...untested.map(sentence => `${number}: ${sentence}: no test`)];
}

test.each(sections.map(section => [section.number, section] as const))(
  'every title of section %s is a sentence of it, and stands once',
  (_, { file, sentences }) => {
    const titles = titlesOf(`${file}.test.ts`);
    expect(titles.filter(title => !sentences.includes(title))).toEqual([]);
    expect(titles).toEqual([...new Set(titles)]);
    expect(titles.length).toBeGreaterThan(0);
    expect(sentences).toEqual([...new Set(sentences)]);
  },
);

test('every file of the suite is that of a section', () => {
  const files = readdirSync(directory).filter(name => name.endsWith('.test.ts') && name !== 'sentences.test.ts');
  expect(files.sort()).toEqual(sections.map(({ file }) => `${file}.test.ts`).sort());
});

test('tells which sentences have no test', () => {
  const lines = sections.flatMap(tell);
  const count = sections.reduce((sum, { sentences }) => sum + sentences.length, 0);
  console.log([`Of ${count} sentences, ${lines.length} have no test:`, ...lines].join('\n'));
  expect(lines.length).toBeLessThan(count);
});
