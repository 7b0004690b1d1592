// From the packed tarball to what is published: platform packages are made from pinned binaries, and named as dependencies once they are published.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { pack, root } from './package.ts';

const names = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'].map(platform => `headgate-uws-${platform}`);
const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-release-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('the committed manifest names the alias and no package that is not published', () => {
  expect(optionalDependencies).toEqual({ 'uWebSockets.js': 'npm:uwebsockets@3.0.6' });
});

test('a package is made for each platform, whose binaries have the pinned checksums', () => {
  const into = temporary();
  const { status, stderr } = spawnSync(process.execPath, ['dist/packaging/uws-packages.js', into], {
    cwd: root,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  expect(readdirSync(into).sort()).toEqual(names);
  for (const name of names) {
    const sums = readFileSync(join(into, name, 'SHA256SUMS'), 'utf8')
      .trimEnd()
      .split('\n');
    expect(sums).toHaveLength(3);
    for (const [sum, file] of sums.map(line => line.split('  ')))
      expect(
        createHash('sha256')
          .update(readFileSync(join(into, name, file!)))
          .digest('hex'),
      ).toBe(sum);
    const manifest = JSON.parse(readFileSync(join(into, name, 'package.json'), 'utf8'));
    expect([manifest.name, manifest.version, `${manifest.os}-${manifest.cpu}`]).toEqual([
      name,
      '3.0.6',
      name.slice(13),
    ]);
  }
  const load = spawnSync(process.execPath, [
    '-p',
    `typeof require('${join(into, `headgate-uws-linux-${process.arch}`)}').App`,
  ]);
  if (process.platform === 'linux') expect(String(load.stdout).trim()).toBe('function');
});

test('a binary that is not the pinned one stops the making of packages', () => {
  const copy = temporary();
  spawnSync('cp', ['-r', 'dist', 'packaging', 'package.json', copy], { cwd: root });
  spawnSync('mkdir', ['-p', join(copy, 'node_modules')]);
  spawnSync('cp', ['-r', join(root, 'node_modules', 'uWebSockets.js'), join(copy, 'node_modules')]);
  appendFileSync(join(copy, 'node_modules', 'uWebSockets.js', 'uws_linux_x64_115.node'), '!');
  const { status, stderr } = spawnSync(process.execPath, ['dist/packaging/uws-packages.js', join(copy, 'out')], {
    cwd: copy,
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toBe(
    'these binaries do not have the SHA-256 in packaging/uws-binaries.json: uws_linux_x64_115.node\n',
  );
});

test('the release is refused until every platform package is published, and then names them at exact versions', async () => {
  const into = temporary();
  const { tarball } = pack(into);
  const published = new Set(names.slice(1));
  const registry = await startRegistry(published);
  const refused = await release(tarball, registry);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.stderr).toContain('not published: headgate-uws-darwin-arm64@3.0.6;');
  published.add(names[0]!);
  const made = await release(tarball, registry);
  expect(made).toMatchObject({ status: 0, stderr: '' });
  const text = spawnSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }).stdout;
  expect(JSON.parse(text).optionalDependencies).toEqual(Object.fromEntries(names.map(name => [name, '3.0.6'])));
});

/** A registry that knows version 3.0.6 of these packages. */
async function startRegistry(published: ReadonlySet<string>): Promise<string> {
  const server = createServer((request, response) => {
    const name = decodeURIComponent(request.url!.slice(1));
    response.setHeader('Content-Type', 'application/json');
    if (!published.has(name)) return void response.writeHead(404).end('{"error":"not found"}');
    const version = { name, version: '3.0.6', dist: { tarball: `http://127.0.0.1/${name}.tgz` } };
    response.end(JSON.stringify({ name, 'dist-tags': { latest: '3.0.6' }, versions: { '3.0.6': version } }));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Ended = { readonly status: number | null; readonly stderr: string };

/** Runs asynchronously, because the registry is in this process and has to answer meanwhile. */
function release(tarball: string, registry: string): Promise<Ended> {
  const child = spawn(process.execPath, ['dist/packaging/release.js', tarball], {
    cwd: root,
    env: { ...process.env, npm_config_registry: registry, npm_config_cache: join(tarball, '..', 'cache') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise(resolve => child.once('close', status => resolve({ status, stderr })));
}
