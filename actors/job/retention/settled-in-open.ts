// Counts the settled jobs of open blocks. Retention cannot remove them yet, because it removes whole blocks.
import type { KeyText, OpenBlock } from '../records/open.ts';

export class SettledInOpen {
  /** The number of these jobs. Until all open blocks have been read after a start, it is too low. */
  jobs = 0;
  readonly #byBlock = new Map<KeyText, number>();

  /** Must be called when an open record was read after a start, and when it was written or removed. */
  note({ key, count, unsettled }: OpenBlock): void {
    if (count === 1) return;
    const settled = unsettled === 0 ? 0 : count - unsettled;
    this.jobs += settled - (this.#byBlock.get(key) ?? 0);
    if (settled > 0) this.#byBlock.set(key, settled);
    else this.#byBlock.delete(key);
  }
}
