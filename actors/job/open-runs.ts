// Which jobs belong to open runs: the steps of open runs, and of runs that these called.
import { indexOf, type JobId } from '../../runtime/ids.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { type Block, findBlock, groupOf } from './records/block.ts';
import { keyText } from './records/open.ts';

/** Its answers are valid for one commit. */
export class OpenRuns {
  readonly #reader: Reader;
  readonly #known = new Map<string, boolean>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Whether a job of the block belongs to an open run. */
  have(block: Block): boolean {
    return block.starts.some((_, place) => {
      const position = block.group(place).run;
      return position !== null && this.#isOpen(position.run);
    });
  }

  /** Whether the run, or one that called it directly or indirectly, is open. If so, the job of this run is kept. */
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
