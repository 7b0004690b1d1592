// The hop limit: an event chain without end is stopped, and its error names the loop.
import type { JobId } from '../../runtime/ids.ts';

/** The most jobs that a chain may cross. */
export const hopsMax = 64;

/** A job as the message names it, and what caused it. */
export type Ancestor = { readonly name: string; readonly parent: JobId | null };

/** Jobs that are walked back at most: a loop may have runs between its jobs. */
const ancestorsMax = 4 * hopsMax;

/** Finds what a job was and what caused it. */
export type FindAncestor = (id: JobId) => Ancestor | undefined;

/** The error of the job that would be one too many. `name` is that job; `cause` what caused it. */
export function hopError(name: string, cause: JobId | null, ancestor: FindAncestor): string {
  return `stopped after ${hopsMax} jobs in one chain of events; ${causeText(name, cause, ancestor)}`;
}

/** The jobs and runs that led to a job, oldest first: back to where its name occurs before, or to the root. */
export function causeText(name: string, cause: JobId | null, ancestor: FindAncestor): string {
  const names = [name];
  let at = cause;
  while (at !== null && names.length < ancestorsMax) {
    const found = ancestor(at);
    if (found === undefined) break;
    names.push(found.name);
    at = found.parent;
    if (found.name === name) break;
  }
  const loop = names.length > 1 && names.at(-1) === name ? 'the loop' : 'the chain';
  return `${loop}: ${names.reverse().join(' → ')}`;
}
