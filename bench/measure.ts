// Runs one bench on a stage of its own, within its time limit, and returns the figures to report.
import type { Bench, Parameters } from './bench.ts';
import type { Report } from './report.ts';
import { Stage, type StageOptions } from './stage.ts';
import type { Stretch } from './usage.ts';
import { workHash } from './work-hash.ts';

export type Measured = {
  readonly report: Report;
  /** Texts that the bench has written, such as plots, by file name. */
  readonly files: { readonly [name: string]: string };
  readonly stretches: readonly Stretch[];
};

export type MeasureOptions = StageOptions & {
  readonly size: 'smoke' | 'real';
  /** Values that replace those of the bench. */
  readonly parameters: Parameters;
  /** The names of the parts to run; undefined: all parts. */
  readonly only?: readonly string[] | undefined;
};

/** Runs the bench. Throws if it fails or exceeds its time limit. */
export async function measure(bench: Bench, { size, parameters, only, ...setting }: MeasureOptions): Promise<Measured> {
  const { name, purpose, limitMs } = bench;
  const params = { ...bench.parameters[size], ...parameters };
  const stage = new Stage(setting);
  const interrupt = (): void => {
    void stage.close().then(() => process.exit(1));
  };
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  let late: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(`not done within ${limitMs[size]} ms`)), limitMs[size]);
  });
  try {
    const {
      metrics,
      work,
      table,
      circumstances = {},
      files = {},
    } = await Promise.race([bench.run(params, stage, only ?? bench.parts ?? []), limit]);
    const hash = { name: 'work_hash', value: workHash(work), unit: 'sha256/64' };
    const report = {
      bench: name,
      purpose,
      params: { size, ...(setting.server && { server: setting.server }), ...params, ...circumstances },
      metrics: [...metrics, hash],
      table,
    };
    return { report, files, stretches: stage.stretches };
  } finally {
    clearTimeout(late);
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    await stage.close();
  }
}
