// Measures two builds of the service in turns. Both are measured with the bench code of this checkout.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Bench, Metric, Parameters } from '../bench.ts';
import { type MeasureOptions, measure } from '../measure.ts';
import { commandIn, projectRoot } from '../project.ts';
import type { Round } from './change.ts';

export type Contest = Pick<MeasureOptions, 'size' | 'parameters' | 'only'> & {
  /** The checkout with the build from before the change. */
  readonly directory: string;
  readonly rounds: number;
};

export type Outcome = { readonly params: Parameters; readonly rounds: readonly Round[] };

/**
 * The two builds take turns at being measured first, beginning with the build in `directory`. Throws if they do
 * different work.
 */
export async function measureAgainst(bench: Bench, { directory, rounds, ...options }: Contest): Promise<Outcome> {
  const commands = { before: commandIn(resolve(directory)), after: commandIn(projectRoot) };
  for (const command of Object.values(commands)) {
    if (!existsSync(command)) throw new Error(`${command} does not exist: run "npm run build" there`);
  }
  const done: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`round ${round} of ${rounds}:`);
    const sides = round % 2 === 1 ? (['before', 'after'] as const) : (['after', 'before'] as const);
    const measured: { before: readonly Metric[]; after: readonly Metric[] } = { before: [], after: [] };
    for (const side of sides) {
      process.stderr.write(` ${side}`);
      const { report } = await measure(bench, { ...options, command: commands[side] });
      measured[side] = report.metrics;
    }
    process.stderr.write('\n');
    assertSameWork(measured);
    done.push(measured);
  }
  return { params: { ...bench.parameters[options.size], ...options.parameters }, rounds: done };
}

function assertSameWork({ before, after }: Round): void {
  const hash = (metrics: readonly Metric[]) => metrics.find(({ name }) => name === 'work_hash')?.value;
  if (hash(before) !== hash(after)) throw new Error(`different work: ${hash(before)} before, ${hash(after)} after`);
}
