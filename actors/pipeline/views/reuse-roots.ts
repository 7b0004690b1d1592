// The runs from which a run reused jobs, directly or through another rerun, and the roots of their trees.
import type { JobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { groupIn } from '../../job/records/cancel.ts';

export function rootOf(reader: Reader, id: JobId): JobId {
  return groupIn(reader, id)?.root ?? id;
}

/** The run and, if it is a rerun `from: failed`, its original run, and so on. */
export function takenOverBy(reader: Reader, run: JobId): JobId[] {
  const runs = [run];
  for (let at = groupIn(reader, run)?.rerun; at?.from === 'failed'; at = groupIn(reader, at.of)?.rerun)
    runs.push(at.of);
  return runs;
}

/** The roots of the trees whose jobs a rerun of this run may need. */
export function neededRoots(reader: Reader, of: JobId): JobId[] {
  return takenOverBy(reader, of).map(run => rootOf(reader, run));
}
