// Limits the number of jobs in a chain of events: a loop would otherwise never end. The error names the jobs and runs of the loop or chain.
import type { JobId } from '../../../runtime/ids.ts';

/** The maximum number of jobs in a chain of events. */
export const hopsMax = 64;

/** The name of a job or run in messages, and the job or run that caused it. */
export type Ancestor = { readonly name: string; readonly parent: JobId | null };

/** The maximum number of jobs and runs that an error names. It exceeds `hopsMax`, because a loop may contain runs as well as jobs. */
const ancestorsMax = 4 * hopsMax;

export type FindAncestor = (id: JobId) => Ancestor | undefined;

/** The error of the job that exceeds the limit. `name`: the name of that job; `cause`: the job or run that caused it. */
export function hopError(name: string, cause: JobId | null, ancestor: FindAncestor): string {
  return `stopped after ${hopsMax} jobs in one chain of events; ${causeText(name, cause, ancestor)}`;
}

/**
 * Names a job or run, and the jobs and runs that led to it, oldest first. The list goes back to an earlier job or run
 * of the same name. If no ancestor has this name, the list goes back to the root, or to the oldest ancestor that is
 * found. It has at most `ancestorsMax` names.
 */
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
