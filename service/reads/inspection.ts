// Reads and checks the configuration on disk as on startup, but on the reads thread: for a reload, and for the doctor.
import type { LoadOptions, LoadResult } from '../../config/load.ts';

/** The findings of reading the configuration. */
export type Inspection = {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly seal: LoadResult['seal'];
};

export async function load(options: Omit<LoadOptions, 'env'>): Promise<LoadResult> {
  // The module is imported only now, because only reloads and the doctor need it on this thread.
  const { loadConfig } = await import('../../config/load.ts');
  return loadConfig({ ...options, env: process.env });
}

export async function inspect(options: Omit<LoadOptions, 'env'>): Promise<Inspection> {
  const loaded = await load(options);
  const { seal } = loaded;
  return loaded.ok
    ? { problems: [], warnings: loaded.config.warnings, seal }
    : { problems: loaded.problems, warnings: loaded.warnings, seal };
}
