// The hop limit stops endless chains of events. The error names the loop.
import type { JobId } from '../../runtime/ids.ts';

/** The maximum number of jobs in a chain of events. */
export const hopsMax = 64;

/** A job's name in messages, and the job that caused it. */
export type Ancestor = { readonly name: string; readonly parent: JobId | null };

/** The maximum number of ancestors that are followed: a loop may contain runs besides jobs. */
const ancestorsMax = 4 * hopsMax;

export type FindAncestor = (id: JobId) => Ancestor | undefined;

/** The error of the job that exceeds the limit. `name`: its name; `cause`: the job that caused it. */
export function hopError(name: string, cause: JobId | null, ancestor: FindAncestor): string {
  return `stopped after ${hopsMax} jobs in one chain of events; ${causeText(name, cause, ancestor)}`;
}

/** The jobs and runs that led to a job, oldest first, back to an earlier one of the same name, or else to the root. */
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
