// Long looks at the store in short slices: between two of them the thread's loop turns, and nothing is held open.

/** Work that yields where it may be put off. It holds no scan open over a yield. */
export type Sliced<T> = Generator<void, T, void>;

export const sliceMsMax = 8;

/** Runs the work; a promise only where one slice is not enough. `begin` is called before each slice. */
export function inSlices<T>(work: Sliced<T>, begin: () => void): T | Promise<T> {
  begin();
  const first = slice(work);
  if (first.done) return first.value;
  return new Promise((resolve, reject) => {
    const next = (): void => {
      try {
        begin();
        const step = slice(work);
        if (step.done) resolve(step.value);
        else setImmediate(next);
      } catch (error) {
        reject(error as Error);
      }
    };
    setImmediate(next);
  });
}

function slice<T>(work: Sliced<T>): IteratorResult<void, T> {
  const endMs = performance.now() + sliceMsMax;
  for (;;) {
    const step = work.next();
    if (step.done || performance.now() >= endMs) return step;
  }
}
