// Emissions that wait to start runs: a queue for each root, so that events which branch without end hold up no others.
//
// Within a line the newest comes first: a token is followed to its end before what stands beside it, so that few have to
// wait. Of one that has not been begun only the id of its job is kept in memory.
import { type JobId, jobIdBytes } from '../../runtime/ids.ts';

type Line<Emission> = { readonly begun: Emission[]; readonly jobs: IdStack };

export class StartQueue<Emission> {
  /** By root. They take turns; none is empty. */
  readonly #lines = new Map<string, Line<Emission>>();
  length = 0;

  push(root: string, emission: Emission): void {
    this.#line(root).begun.push(emission);
    this.length++;
  }

  /** The events of this job; its record of them is committed. */
  pushJob(root: string, job: JobId): void {
    this.#line(root).jobs.push(job);
    this.length++;
  }

  /** The next one of the root whose turn it is: one that has been begun, or the id of its job. */
  shift(): { readonly root: string; readonly begun: Emission | null; readonly job: JobId | null } {
    const [root, line] = this.#lines.entries().next().value!;
    const job = line.jobs.pop() ?? null;
    const begun = job === null ? line.begun.shift()! : null;
    this.#lines.delete(root);
    if (line.jobs.length > 0 || line.begun.length > 0) this.#lines.set(root, line);
    this.length--;
    return { root, begun, job };
  }

  *begun(): Iterable<Emission> {
    for (const line of this.#lines.values()) yield* line.begun;
  }

  #line(root: string): Line<Emission> {
    let line = this.#lines.get(root);
    if (!line) {
      line = { begun: [], jobs: new IdStack() };
      this.#lines.set(root, line);
    }
    return line;
  }
}

/** Ids side by side: there may be very many. */
class IdStack {
  #bytes: Uint8Array = new Uint8Array(jobIdBytes);
  length = 0;

  push(id: JobId): void {
    const at = this.length++ * jobIdBytes;
    if (at === this.#bytes.length) {
      const larger = new Uint8Array(2 * at);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(id, at);
  }

  pop(): JobId | undefined {
    if (this.length === 0) return undefined;
    const at = --this.length * jobIdBytes;
    const id = Buffer.from(this.#bytes.subarray(at, at + jobIdBytes));
    // A flood that is over does not keep its room.
    if (4 * at < this.#bytes.length) this.#bytes = this.#bytes.slice(0, Math.max(jobIdBytes, this.#bytes.length >> 1));
    return id;
  }
}
