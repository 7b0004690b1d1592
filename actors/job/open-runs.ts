// Which jobs belong to runs that are still open: steps of these, and of the runs that they have called.
import { indexOf, type JobId } from '../../runtime/ids.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { type Block, findBlock, groupOf } from './records/block.ts';
import { keyText } from './records/open.ts';

/** As of one commit. */
export class OpenRuns {
  readonly #reader: Reader;
  readonly #known = new Map<string, boolean>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Whether a job of the block is of an open run. */
  have(block: Block): boolean {
    return block.starts.some((_, place) => {
      const position = block.group(place).run;
      return position !== null && this.#isOpen(position.run);
    });
  }

  /** The run is open, or the one that called it, and so on: while that is, the job of this one is kept. */
  #isOpen(run: JobId): boolean {
    const name = keyText(run);
    let isOpen = this.#known.get(name);
    if (isOpen === undefined) {
      isOpen = this.#reader.get('runs', run) !== undefined || this.#isCalledFromOpen(run);
      this.#known.set(name, isOpen);
    }
    return isOpen;
  }

  #isCalledFromOpen(run: JobId): boolean {
    const block = findBlock(this.#reader, run);
    const caller = block && groupOf(block, indexOf(run)).group.run;
    return caller ? this.#isOpen(caller.run) : false;
  }
}
