// Loads the configuration for a command that needs a valid one.
import type { Config } from '../config/config.ts';
import { exitStatus } from './exit-status.ts';
import { failure } from './failure.ts';
import type { Io } from './io.ts';

/** Returns the configuration. If it is invalid, throws a `CommandFailure` with exit status 78 that lists all problems. */
export async function readConfiguration(path: string | undefined, io: Io): Promise<Config> {
  const { loadConfig } = await import('../config/load.ts');
  const loaded = loadConfig({ path, env: io.env, cwd: io.cwd });
  if (loaded.ok) return loaded.config;
  throw failure(exitStatus.config, 'invalid_configuration', 'The configuration is invalid', loaded.problems.join('\n'));
}
