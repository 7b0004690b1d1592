// Sliced work of its own, for tests of what slices.
import { type Sliced, Slices } from '../../runtime/slices.ts';

export function inSlices<T>(work: Sliced<T>, begin: () => void): Promise<T> {
  return new Slices(begin).share().run(work);
}
