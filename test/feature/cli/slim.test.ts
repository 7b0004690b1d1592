// The command `headgate-slim`, in a project whose node_modules has a package uWebSockets.js beside headgate.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const [, name, version] = /^npm:(.+)@(.+)$/.exec(manifest.optionalDependencies['uWebSockets.js'])!;

/** Runs `headgate-slim` beside this package uWebSockets.js. Returns what it printed, and which of the files that are never loaded are left. */
function slim(uws: object, headgate: object = manifest) {
  const modules = join(mkdtempSync(join(tmpdir(), 'headgate-slim-')), 'node_modules');
  onTestFinished(() => rmSync(dirname(modules), { recursive: true, force: true }));
  const [product, other] = [join(modules, 'headgate'), join(modules, 'uWebSockets.js')];
  const command = join(product, 'dist', 'cli', 'slim.js');
  cpSync(join(root, 'dist', 'cli', 'slim.js'), command);
  writeFileSync(join(product, 'package.json'), JSON.stringify(headgate));
  mkdirSync(join(other, 'src'), { recursive: true });
  writeFileSync(join(other, 'package.json'), JSON.stringify({ main: 'uws.js', ...uws }));
  const unneeded = ['src', 'uws_other_x64_1.node'];
  for (const file of ['uws.js', unneeded[1]!]) writeFileSync(join(other, file), '');
  const { stdout, stderr } = spawnSync(process.execPath, [command], { encoding: 'utf8' });
  return { said: stdout + stderr, left: unneeded.filter(file => existsSync(join(other, file))) };
}

test('the package that headgate pins loses what is never loaded', () => {
  const { said, left } = slim({ name, version });
  expect(said).toMatch(/^uWebSockets\.js: .*removed 1 others/);
  expect(left).toEqual([]);
});

test.each([
  ['of another name', { name: 'uWebSockets.js', version }],
  ['of another version', { name, version: '0.0.1' }],
  ['that a release does not pin', { name, version }, { ...manifest, optionalDependencies: {} }],
])('a package %s keeps all of its files', (_, uws, headgate?: object) => {
  expect(slim(uws, headgate)).toEqual({
    said: 'headgate has no uWebSockets.js of its own: nothing to remove\n',
    left: ['src', 'uws_other_x64_1.node'],
  });
});
