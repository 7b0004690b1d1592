// Every key of config.yaml and manifest.yaml is described in its schema, and the pages made of the schemas are up to date.
//
// A description is made of sentences: what the key is for, with its unit, then "Default: `30s`." (or in words: "Default: no limit."), then
// "Example: `[a, b]`." where it helps. test/unit/config/defaults.test.ts compares the quoted defaults with what is loaded.
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { configKeysPage, manifestKeysPage } from '../../packaging/reference/keys.ts';
import { configKeys, manifestKeys } from '../unit/config/keys.ts';

test.each([
  ['config-keys.md', configKeysPage()],
  ['manifest-keys.md', manifestKeysPage()],
])('docs/%s is not stale (npm run reference writes it)', (name, page) => {
  const file = new URL(`../../docs/${name}`, import.meta.url);
  if (process.env['HEADGATE_WRITE_REFERENCE']) writeFileSync(file, page);
  expect(readFileSync(file, 'utf8')).toBe(page);
});

describe.each([
  ['config.yaml', configKeys],
  ['manifest.yaml', manifestKeys],
])('the description of a key of %s', (_, keys) => {
  test('is made of sentences', () => {
    expect(keys.length).toBeGreaterThan(20);
    expect(keys.filter(({ said }) => !/^[A-Z`].*\.$/.test(said))).toEqual([]);
  });

  test('names the default of what may be left out ("Default: `30s`.", or in words), and of nothing else', () => {
    const wrong = keys.filter(({ said, kind }) => kind !== 'map' && /Default: \S/.test(said) !== (kind === 'optional'));
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });
});
