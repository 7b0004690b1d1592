// Loads the configuration for a command that needs a valid one.
import type { Config } from '../config/config.ts';
import { exitStatus } from './exit-status.ts';
import { failure } from './failure.ts';
import type { Io } from './io.ts';

/** Throws a `CommandFailure` with exit status 78 that lists all problems; `hint` is a further line. */
export async function readConfiguration(path: string | undefined, io: Io, hint?: string): Promise<Config> {
  const { loadConfig } = await import('../config/load.ts');
  const loaded = loadConfig({ path, env: io.env, cwd: io.cwd });
  if (loaded.ok) return loaded.config;
  const detail = [...loaded.problems, ...(hint === undefined ? [] : [hint])].join('\n');
  throw failure(exitStatus.config, 'invalid_configuration', 'The configuration is wrong', detail);
}
