// Each sentence of docs/durability.md names a test that exists, by words from the title of the test.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const promises = readFileSync(`${root}docs/durability.md`, 'utf8')
  .split('\n')
  .filter(line => line.startsWith('- '))
  .map(line => line.slice(2));

const named = /`(test\/[\w/-]+(?:\.slow)?\.test\.ts)`: "([^"]+)"/;
/** One or more tests in parentheses. */
const tests = new RegExp(` \\((?:(?:; )?${named.source})+\\)(?= |$)`, 'g');

/** The titles of the tests of a file; for `test.each`, the title follows a closing parenthesis. */
function titlesOf(file: string): string[] {
  const text = readFileSync(root + file, 'utf8');
  const calls = /(?:\b(?:test|it)(?:\.\w+)?|\))\(\s*(['"`])(.*?)\1,/g;
  return Array.from(text.matchAll(calls), ([, , title]) => title!);
}

function isThere(reference: string): boolean {
  const [, file, words] = named.exec(reference)!;
  return existsSync(root + file) && titlesOf(file!).some(title => title.includes(words!));
}

test('each sentence about durability is followed by its tests', () => {
  expect(promises.length).toBeGreaterThan(15);
  const wrong = promises.filter(promise => {
    const sentences = promise.split(tests).filter((_, place) => place % 3 === 0);
    const last = sentences.pop();
    const areSingle = sentences.every(sentence => sentence.endsWith('.') && !sentence.includes('. '));
    return last !== '' || sentences.length === 0 || !areSingle;
  });
  expect(wrong).toEqual([]);
});

test('each of these tests is there', () => {
  const references = promises.flatMap(promise => promise.match(new RegExp(named, 'g')) ?? []);
  expect(references.length).toBeGreaterThan(promises.length);
  expect(references.filter(reference => !isThere(reference))).toEqual([]);
});
