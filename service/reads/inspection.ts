// The configuration on disk, as the doctor asks for it: read and checked as a start would do, on the thread for reads.
import type { LoadOptions, LoadResult } from '../../config/load.ts';

/** Of what was read, what is said about it. */
export type Inspection = {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly seal: LoadResult['seal'];
};

export async function inspect(options: Omit<LoadOptions, 'env'>): Promise<Inspection> {
  // Most of what this loads nobody else on the thread needs.
  const { loadConfig } = await import('../../config/load.ts');
  return inspectionOf(loadConfig({ ...options, env: process.env }));
}

export function inspectionOf(loaded: LoadResult): Inspection {
  const { seal } = loaded;
  return loaded.ok
    ? { problems: [], warnings: loaded.config.warnings, seal }
    : { problems: loaded.problems, warnings: loaded.warnings, seal };
}
