// A sealed configuration for a test: an include closure, a directory of includes, and a plugin with inner files.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LoadOptions, loadConfig } from '../../../config/load.ts';
import { type Locked, lockConfiguration } from '../../../config/seal/sealing.ts';
import { makeSandbox, plugin, type SandboxFiles } from '../../unit/config/sandbox.ts';

export type Sealed = {
  readonly directory: string;
  readonly env: { readonly [name: string]: string };
  readonly keyFile: string;
  readonly lockFile: string;
};

const files = (strict: boolean): SandboxFiles => ({
  'config.yaml': `include: [api.yaml, parts]\nservice: { strict_mode: ${strict} }\n`,
  'api.yaml': 'api: { max_body_size: 1KB }\n',
  'parts/a.yaml': 'state: { path: ../data }\n',
  ...plugin('echo'),
  'plugins/echo/lib/inner.js': 'export const inner = 1;\n',
  'plugins/echo/node_modules/dep/index.js': '',
});

/** A configuration that is not locked yet; the key is in another directory. */
export function makeUnsealed(strict: boolean, more: SandboxFiles = {}): Sealed {
  const directory = makeSandbox({ ...files(strict), ...more });
  const home = makeSandbox({});
  // Sets the modes, which otherwise depend on the umask.
  for (const name of ['', 'parts', 'plugins', 'plugins/echo', 'plugins/echo/lib'])
    chmodSync(join(directory, name), 0o755);
  const env = { HOME: home };
  return {
    directory,
    env,
    keyFile: join(home, '.config/headgate/seal.key'),
    lockFile: join(directory, '.headgate.lock'),
  };
}

export function makeSealed(strict: boolean, more: SandboxFiles = {}): Sealed {
  const sealed = makeUnsealed(strict, more);
  locked(sealed);
  return sealed;
}

/** Locks a configuration, which must be valid. */
export function locked(sealed: Sealed, env: Sealed['env'] = {}): Extract<Locked, { ok: true }> {
  const result = lockConfiguration(optionsOf(sealed, env));
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result;
}

export function optionsOf({ directory, env }: Sealed, more: Sealed['env'] = {}): LoadOptions {
  return { path: directory, env: { ...env, ...more }, cwd: directory, processors: 1 };
}

export type Found = {
  readonly ok: boolean;
  readonly strict: boolean;
  /** The findings of the seal, without remedies; `~` is the directory, `key` that of the key. */
  readonly findings: readonly string[];
  /** Problems that are no findings of the seal. */
  readonly others: readonly string[];
};

export function load(sealed: Sealed, options: Partial<LoadOptions> = {}, env: Sealed['env'] = {}): Found {
  const result = loadConfig({ ...optionsOf(sealed, env), ...options });
  const { findings, strict } = result.seal;
  const others = result.ok ? [] : result.problems.filter(line => !findings.includes(line));
  return { ok: result.ok, strict, findings: findings.map(line => tidy(line, sealed)), others };
}

function tidy(line: string, { directory, env }: Sealed): string {
  const short = line.replaceAll(directory, '~').replaceAll(env['HOME']!, '$HOME');
  return short.replace(':1:1: seal: ', ' ').replace(/;.*$/, '');
}

export function write({ directory }: Sealed, name: string, text: string): void {
  const path = join(directory, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
}

export function edit(sealed: Sealed, name: string, change: (text: string) => string): void {
  write(sealed, name, change(readFileSync(join(sealed.directory, name), 'utf8')));
}
