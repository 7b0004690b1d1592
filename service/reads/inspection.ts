// Inspects the configuration on disk for the doctor: reads and checks it as on startup, but on the reads thread.
import type { LoadOptions, LoadResult } from '../../config/load.ts';

/** The findings of reading the configuration. */
export type Inspection = {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly seal: LoadResult['seal'];
};

export async function inspect(options: Omit<LoadOptions, 'env'>): Promise<Inspection> {
  // The module is imported only now, because only the doctor needs it on this thread.
  const { loadConfig } = await import('../../config/load.ts');
  return inspectionOf(loadConfig({ ...options, env: process.env }));
}

function inspectionOf(loaded: LoadResult): Inspection {
  const { seal } = loaded;
  return loaded.ok
    ? { problems: [], warnings: loaded.config.warnings, seal }
    : { problems: loaded.problems, warnings: loaded.warnings, seal };
}
