// What to search logs for, to find the errors of a group.
import { expect, test } from 'vitest';
import { searchOf } from '../../../ui/screens/failures/search-words.ts';

test.each([
  ['connect ECONNREFUSED #', 'connect ECONNREFUSED'],
  ["no user '…' in tenant #", 'no user in tenant'],
  ['user# is a b', 'is'],
  ['#', ''],
  ['one two three four five six seven eight nine ten', 'one two three four five six seven eight'],
])('%s: %s', (pattern, words) => {
  expect(searchOf(pattern)).toBe(words);
});
