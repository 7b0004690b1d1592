// Loads the configuration for a command that needs a valid one, or only its state directory.
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

/**
 * Returns the state directory that the configuration names. Other settings may be invalid, or may have variables that only the service has.
 * Throws a `CommandFailure` with exit status 78 if it is not certain that the service uses this directory.
 */
export async function readStatePath(path: string | undefined, io: Io): Promise<string> {
  const { readAccess } = await import('../config/access.ts');
  const access = readAccess({ path, env: io.env, cwd: io.cwd });
  const problems = typeof access === 'string' ? [access] : access.statePath.doubts;
  if (typeof access !== 'string' && problems.length === 0) return access.statePath.value;
  throw failure(exitStatus.config, 'invalid_configuration', 'state.path cannot be read', problems.join('\n'));
}
