// Determines which jobs belong to open runs: they are jobs of an open run, or of a run that an open run has called, directly or not.
import { blockOf, type JobId } from '../../../runtime/ids.ts';
import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Block } from '../records/block.ts';
import { groupIn } from '../records/cancel.ts';
import { keyText } from '../records/open.ts';

/** Finds out which blocks have jobs of open runs. The answers are cached, and are valid until the next commit. */
export class OpenRuns {
  readonly #reader: Reader;
  readonly #setAside: SetAside;
  readonly #known = new Map<string, boolean>();

  constructor(reader: Reader, setAside: SetAside) {
    this.#reader = reader;
    this.#setAside = setAside;
  }

  /** Whether a job of the block belongs to an open run. */
  have(block: Block): boolean {
    return block.starts.some((_, place) => {
      const position = block.group(place).run;
      return position !== null && this.#isOpen(position.run);
    });
  }

  /** Whether the run, or a run that has called it directly or indirectly, is open. */
  #isOpen(run: JobId): boolean {
    const name = keyText(run);
    let isOpen = this.#known.get(name);
    if (isOpen === undefined) {
      isOpen = this.#reader.get('runs', run) !== undefined || this.#isCalledFromOpen(run);
      this.#known.set(name, isOpen);
    }
    return isOpen;
  }

  /** Whether the run was called by an open run, directly or not. Also true if the run's block is unusable: its caller is then unknown. */
  #isCalledFromOpen(run: JobId): boolean {
    const group = this.#setAside.read('blocks', blockOf(run), () => groupIn(this.#reader, run));
    if (group === undefined) return true;
    const caller = group?.run;
    return caller ? this.#isOpen(caller.run) : false;
  }
}
