// Every test that has a long form runs in `npm run test:deep`.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readHouse } from './house.ts';

test('the paths of test:deep cover every test file that imports test/support/deep.ts', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const paths = String(scripts['test:deep'])
    .split(' ')
    .filter(word => word.startsWith('test/') || word === '.slow.test');
  const files = readHouse(fileURLToPath(new URL('../..', import.meta.url)));
  const long = files.filter(
    ({ path, imports }) => path.endsWith('.test.ts') && imports.includes('test/support/deep.ts'),
  );
  expect(long.length).toBeGreaterThan(3);
  expect(long.map(({ path }) => path).filter(path => !paths.some(part => path.includes(part)))).toEqual([]);
});
