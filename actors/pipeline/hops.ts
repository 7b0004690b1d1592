// The hop limit: an event chain that goes on and on is stopped, and told as the loop it is.
import type { JobId } from '../../runtime/ids.ts';

/** A chain may cross so many jobs. */
export const hopsMax = 64;

/** A job as the message names it, and what caused it. */
export type Ancestor = { readonly name: string; readonly parent: JobId | null };

/** Jobs that are walked back at most: a loop may have runs between its jobs. */
const ancestorsMax = 4 * hopsMax;

/** What the error of the job that would be one too many says. `name` is that job; `cause` what caused it. */
export function hopError(name: string, cause: JobId | null, ancestor: (id: JobId) => Ancestor | undefined): string {
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
  return `stopped after ${hopsMax} jobs in one chain of events; ${loop}: ${names.reverse().join(' → ')}`;
}
