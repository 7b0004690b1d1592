// `npm run release -- TARBALL` turns the tarball of `npm pack` into the tarball to publish. The command replaces the dependency on
// uWebSockets.js, which contains the binaries of every platform, by dependencies on the packages of single platforms. It fails until the
// registry has all these packages.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { packageName, platforms } from './platforms.ts';

type Manifest = { readonly version: string; readonly optionalDependencies?: { readonly [name: string]: string } };

const alias = 'uWebSockets.js';

function main(words: readonly string[]): number {
  const [tarball, ...more] = words;
  if (tarball === undefined || tarball.startsWith('-') || more.length > 0)
    return fail('usage: npm run release -- TARBALL');
  const work = mkdtempSync(join(tmpdir(), 'headgate-release-'));
  try {
    execFileSync('tar', ['-xzf', resolve(tarball), '-C', work]);
    const directory = join(work, 'package');
    const path = join(directory, 'package.json');
    const manifest: Manifest = JSON.parse(readFileSync(path, 'utf8'));
    const { [alias]: pinned, ...others } = manifest.optionalDependencies ?? {};
    const version = /@(\d[^@]*)$/.exec(pinned ?? '')?.[1];
    if (version === undefined)
      return fail(`package.json in ${tarball} must list ${alias} in optionalDependencies at an exact version`);
    const names = platforms.map(packageName);
    const missing = names.filter(name => !isPublished(name, version));
    if (missing.length > 0)
      return fail(
        `not published: ${missing.map(name => `${name}@${version}`).join(', ')}; publish the packages that npm run uws-packages creates first`,
      );
    const optionalDependencies = { ...others, ...Object.fromEntries(names.map(name => [name, version])) };
    writeFileSync(path, `${JSON.stringify({ ...manifest, optionalDependencies }, null, 2)}\n`);
    // Runs no scripts, because the package is already built, and has no sources to build again.
    const [made] = JSON.parse(
      execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dirname(resolve(tarball))], {
        cwd: directory,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    );
    process.stdout.write(`${join(dirname(resolve(tarball)), made.filename)}: ready for npm publish\n`);
    return 0;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Asks the registry that npm is configured to use. */
function isPublished(name: string, version: string): boolean {
  try {
    const said = execFileSync('npm', ['view', `${name}@${version}`, 'version', '--json'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return said.trim() === JSON.stringify(version);
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    if (`${stdout}${stderr}`.includes('E404')) return false;
    throw error;
  }
}

function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}

process.exitCode = main(process.argv.slice(2));
