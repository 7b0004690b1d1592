// Faults of the bundled service name the source files that they come from.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { withSourceNames } from '../../../runtime/source-names.ts';

const bundle = new URL('../../../dist/runtime/host/thread/sealed-loader.js', import.meta.url).href;

test('each place of a stack in a bundle gets its source; all else stays', () => {
  const code = `
    const { load } = await import('${bundle}');
    await load('file:///a', {}, () => { throw new Error('no such module'); }).catch(error => console.log(error.stack));`;
  // Runs in a process of its own, because the test runner also rewrites stacks.
  const stack = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  const named = withSourceNames(stack);
  expect(named).toMatch(/^Error: no such module\n/);
  expect(named).toMatch(
    /runtime\/host\/thread\/sealed-loader\.ts in file:.*\/dist\/runtime\/host\/thread\/sealed-loader\.js:\d+:\d+/,
  );
  expect(named.replaceAll(/runtime\/host\/thread\/[\w-]+\.ts in /g, '')).toBe(stack);
});

test('places in files that are no bundles, or are gone, stay as they are', () => {
  const stack = `Error: x\n    at ${import.meta.url.replace(/\.ts$/, '.js')}:3:1\n    at file:///gone.js:1:1 (node:fs:1:2)`;
  expect(withSourceNames(stack)).toBe(stack);
});
