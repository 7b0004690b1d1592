// Loads configuration files in a temporary directory, which is removed afterwards.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach } from 'vitest';
import { type LoadOptions, type LoadResult, loadConfig } from '../../../config/load.ts';

/** Contents by path. A path that ends with `*` becomes an executable file, without the `*`. */
export type SandboxFiles = { readonly [path: string]: string | Uint8Array };

const made: string[] = [];

afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});

export function makeSandbox(files: SandboxFiles): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-config-')));
  made.push(directory);
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name.replace(/\*$/, ''));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode: name.endsWith('*') ? 0o755 : 0o644 });
  }
  return directory;
}

/** Loads config.yaml of a directory; in messages the directory is `~`. */
export function loadSandbox(directory: string, options: Partial<LoadOptions> = {}): LoadResult {
  const result = loadConfig({ path: directory, env: {}, cwd: directory, processors: 2, ...options });
  const tidy = (line: string): string => line.replaceAll(directory, '~');
  if (result.ok) return result;
  return { ...result, problems: result.problems.map(tidy), warnings: result.warnings.map(tidy) };
}

export function loadFiles(files: SandboxFiles, env: LoadOptions['env'] = {}): LoadResult {
  return loadSandbox(makeSandbox(files), { env });
}

/** The configuration of files, which must be valid. */
export function loaded(files: SandboxFiles, env: LoadOptions['env'] = {}) {
  const result = loadFiles(files, env);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

/** A worker plugin with the commands `handle` and `health`. */
export function plugin(name: string, extra = ''): SandboxFiles {
  const manifest = `manifest_spec: headgate.plugin
name: ${name}
version: 1.0.0
protocol: 2
entrypoint: index.js
commands:
  - name: handle
    type: write
  - name: health
    type: read
${extra}`;
  return { [`plugins/${name}/manifest.yaml`]: manifest, [`plugins/${name}/index.js`]: '' };
}
