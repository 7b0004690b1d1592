// The table of docs/http.md and the file of expected differences say the same.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { differences } from './differences.ts';

test('each difference has a row in docs/http.md, in the same order', () => {
  const page = readFileSync('docs/http.md', 'utf8');
  const [table = ''] = page.slice(page.indexOf('## What `uws` does not do')).split('\n## ', 1);
  const rows = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(match => match[1]!).slice(1);
  expect(rows.length).toBe(differences.uws.length);
  for (const [place, feature] of differences.uws.entries())
    expect(rows[place]!.startsWith(feature), feature).toBe(true);
  expect(differences.node).toEqual([]);
});
