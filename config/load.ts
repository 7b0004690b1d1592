// Loads the configuration: checks it and, if it is sealed, compares it with its lock. The result is a frozen `Config`, or all problems.
import { relative } from 'node:path';
import type { Config, Manifest } from './config.ts';
import { type ReadOptions, readConfiguration } from './reading.ts';
import { checkSeal, type Seal, type SealOptions, unsealed } from './seal/seal.ts';
import type { FileSurvey } from './seal/survey.ts';
import type { Certificates } from './section/tls.ts';
import { diskFiles, isWithin } from './source/files.ts';

export type LoadOptions = ReadOptions & Pick<SealOptions, 'statePath'>;

export type LoadResult =
  | { readonly ok: true; readonly config: Config; readonly certificates: Certificates; readonly seal: Seal }
  /**
   * Each problem is one line `file:line:column: path: what is wrong and what would be right`, without the parts that do not
   * apply.
   */
  | {
      readonly ok: false;
      readonly problems: readonly string[];
      readonly warnings: readonly string[];
      readonly seal: Seal;
    };

/** Loads, checks and freezes the configuration. Never throws because of the contents of files or environment. */
export function loadConfig(options: LoadOptions): LoadResult {
  const reading = readConfiguration(options);
  if (typeof reading === 'string') return { ok: false, problems: [reading], warnings: [], seal: unsealed };
  const { env, cwd, statePath, disk = diskFiles } = options;
  const { seal, survey } = checkSeal(reading, { env, cwd, statePath, disk });
  const { config, warnings } = reading;
  const problems = [...reading.problems, ...(seal.strict ? seal.findings : [])];
  if (problems.length > 0) return { ok: false, problems, warnings, seal };
  const checked = seal.strict && survey !== null ? withDigests(config, survey) : config;
  return { ok: true, config: freezeDeeply(checked), certificates: reading.certificates, seal };
}

/** The warnings about the seal, for a start, a reload or `config check`. */
export function sealWarnings({ strict, findings, cautions }: Seal): string[] {
  return [...(strict ? [] : findings), ...cautions];
}

/** The warning for a `gap` of the seal: only the note in the state directory has the accepted lock. `reason`: why the other note lacks it. */
export function sealGap(reason: string): string {
  return `the note of the accepted lock exists only in state.path, so a changed configuration could evade the check by naming another state.path (${reason})`;
}

/** For strict mode, adds to the manifest of each plugin the hashes of the plugin's sealed files (`Manifest.digests`). */
function withDigests(config: Config, { digests }: FileSurvey): Config {
  const all = [...digests];
  const sealed = (manifest: Manifest): Manifest => {
    const { directory } = manifest;
    const own = all.filter(([path]) => isWithin(path, directory));
    return {
      ...manifest,
      digests: Object.fromEntries(own.map(([path, sha256]) => [relative(directory, path), sha256])),
    };
  };
  const plugins = Object.entries(config.plugins).map(([name, plugin]) => {
    return [name, { ...plugin, manifest: sealed(plugin.manifest) }] as const;
  });
  return { ...config, plugins: Object.fromEntries(plugins) };
}

/** Makes the result of another thread equal to one of this thread: messages turn buffers into other arrays, and freeze nothing. */
export function received(loaded: LoadResult): LoadResult {
  if (!loaded.ok) return loaded;
  const certificates = Object.entries(loaded.certificates).map(([name, certificate]) => {
    const [chain, key] = [Buffer.from(certificate.chain), Buffer.from(certificate.key)];
    return [name, { ...certificate, chain, key }] as const;
  });
  return { ...loaded, config: freezeDeeply(loaded.config), certificates: Object.fromEntries(certificates) };
}

function freezeDeeply<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) freezeDeeply(inner);
  return Object.freeze(value);
}
