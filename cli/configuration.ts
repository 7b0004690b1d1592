// The configuration for a command that needs it whole.
import type { Config } from '../config/config.ts';
import { exitStatus } from './exit-status.ts';
import { failure } from './failure.ts';
import type { Io } from './io.ts';

/** A `Failure` with exit status 78 names everything that is wrong, one a line; `hint` is one more line. */
export async function readConfiguration(path: string | undefined, io: Io, hint?: string): Promise<Config> {
  const { loadConfig } = await import('../config/load.ts');
  const loaded = loadConfig({ path, env: io.env, cwd: io.cwd });
  if (loaded.ok) return loaded.config;
  const detail = [...loaded.problems, ...(hint === undefined ? [] : [hint])].join('\n');
  throw failure(exitStatus.config, 'invalid_configuration', 'The configuration is wrong', detail);
}
