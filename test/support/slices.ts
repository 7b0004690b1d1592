// Runs one piece of sliced work to its end, for tests of sliced functions.
import { type Sliced, Slices } from '../../runtime/slices.ts';

export function inSlices<T>(work: Sliced<T>, begin: () => void): Promise<T> {
  return new Slices(begin).share().run(work);
}
