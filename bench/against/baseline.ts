// Records the changes that were kept, each as one line of JSON in bench/baseline.jsonl.
import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import type { Parameters } from '../bench.ts';
import { baselineFile } from '../project.ts';
import { type Change, changeRecords } from './change.ts';

export type Source = {
  /** The abbreviated hash of the commit; null outside a repository. */
  readonly commit: string | null;
  /** Whether the checkout has changes that are not in `commit`. Changes of bench/baseline.jsonl do not count. */
  readonly dirty: boolean;
};

export type Kept = {
  readonly bench: string;
  readonly parameters: Parameters;
  /** The directory of the checkout without the change. */
  readonly before: string;
  /** The directory of the checkout with the change. */
  readonly after: string;
  /** The change, in a sentence. */
  readonly change: string;
  readonly rounds: number;
  readonly changes: readonly Change[];
};

export function keep({ before, after, changes, ...rest }: Kept): void {
  const date = new Date().toISOString().slice(0, 10);
  const line = { date, ...rest, before: sourceOf(before), after: sourceOf(after), metrics: changeRecords(changes) };
  appendFileSync(baselineFile, `${JSON.stringify(line)}\n`);
}

/**
 * The commit of a checkout, and whether it has other changes, as git reports them. The build in the checkout is not
 * examined.
 */
function sourceOf(directory: string): Source {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', directory, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return {
      commit: git('rev-parse', '--short', 'HEAD'),
      dirty: git('status', '--porcelain', '--', '.', ':(exclude)bench/baseline.jsonl') !== '',
    };
  } catch {
    return { commit: null, dirty: false };
  }
}
