// Each promise of docs/durability.md names a test that is there.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const promises = readFileSync(`${root}docs/durability.md`, 'utf8')
  .split('\n')
  .filter(line => line.startsWith('- '));

test('each promise about durability names a test that is there', () => {
  expect(promises.length).toBeGreaterThan(15);
  const wrong = promises.filter(promise => {
    const [, file, title] = /\(`(test\/[\w/-]+\.test\.ts)`: "([^"]+)"\)$/.exec(promise) ?? [];
    return !file || !existsSync(root + file) || !readFileSync(root + file, 'utf8').includes(title!);
  });
  expect(wrong).toEqual([]);
});
