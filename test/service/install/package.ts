// The packed product: made once for all tests of a file, and installed into empty directories as its users would.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export type Packed = {
  readonly tarball: string;
  /** Bytes of the tarball. */
  readonly size: number;
  readonly files: readonly string[];
};

/** `npm pack` into this directory. */
export function pack(into: string): Packed {
  const said = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', into], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [made] = JSON.parse(said);
  return {
    tarball: join(into, made.filename),
    size: made.size,
    files: made.files.map(({ path }: { path: string }) => path),
  };
}

/** Makes an empty project there that has installed the tarball as its only dependency. */
export function install(directory: string, tarball: string): string {
  mkdirSync(directory);
  writeFileSync(join(directory, 'package.json'), '{"name":"user","private":true,"type":"module"}\n');
  // Install scripts stay off, because the product must not depend on them.
  shell(directory, `npm install --ignore-scripts ${tarball}`);
  return directory;
}

/** Runs a line of shell in the directory, with the commands of its packages on the PATH; throws its output if it fails. */
export function shell(directory: string, line: string, node = process.execPath): string {
  const PATH = [join(directory, 'node_modules', '.bin'), join(node, '..'), process.env['PATH']].join(':');
  const { status, stdout, stderr } = spawnSync('bash', ['-c', line], {
    cwd: directory,
    encoding: 'utf8',
    env: { ...process.env, PATH, HOME: directory },
  });
  if (status !== 0) throw new Error(`${line}\nended with ${status}\n${stdout}\n${stderr}`);
  return stdout;
}
