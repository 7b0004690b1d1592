// The configurations whose documents are kept: both examples, and one with everything that is awkward.
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../../config/config.ts';
import { loadConfig } from '../../../config/load.ts';
import { makeSandbox } from '../../unit/config/sandbox.ts';
import { nastyFiles } from './nasty.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export const configurations = ['dependency-report', 'two-runtimes', 'nasty'] as const;
export type ConfigurationName = (typeof configurations)[number];

export function configurationOf(name: ConfigurationName): Config {
  const path = name === 'nasty' ? makeSandbox(nastyFiles) : `examples/${name}`;
  const loaded = loadConfig({ path, env: {}, cwd: root, processors: 2 });
  if (name === 'nasty') rmSync(path, { recursive: true });
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  return loaded.config;
}
