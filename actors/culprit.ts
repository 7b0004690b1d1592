// What in the store made a turn fail, where the code that threw knows it: that alone is dealt with, and the rest goes on.
import { formatId, type JobId } from '../runtime/ids.ts';
import { isStoreFault } from '../runtime/store/fault.ts';
import { StoreFull } from '../runtime/store/store.ts';

export type Culprit =
  /** An unfinished run. */
  | { readonly kind: 'run'; readonly id: JobId }
  /** A block of jobs, or the record of which of them are open. */
  | { readonly kind: 'block'; readonly key: Uint8Array }
  /** Events that wait to be taken. */
  | { readonly kind: 'emission'; readonly key: Uint8Array };

export class CulpritError extends Error {
  readonly culprit: Culprit;

  constructor(culprit: Culprit, cause: unknown) {
    super(`${culpritText(culprit)}: ${(cause as Error).message}`, { cause });
    this.culprit = culprit;
  }
}

/** The error with its culprit. The innermost one counts, and a store that cannot commit has none. */
export function blame(culprit: Culprit, error: unknown): unknown {
  if (error instanceof CulpritError || error instanceof StoreFull || isStoreFault(error)) return error;
  return new CulpritError(culprit, error);
}

export function culpritText(culprit: Culprit): string {
  if (culprit.kind === 'run') return `run ${formatId(culprit.id)}`;
  return `${culprit.kind} ${Buffer.from(culprit.key).toString('hex')}`;
}
