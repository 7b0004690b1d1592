// Which configuration was in force in which commits. A reload waits in the queue, sometimes behind several commits, until it is read.
import type { Generation } from './setup.ts';

type Span = { readonly from: number; to: number; readonly setup: Generation };

export class InForce {
  readonly #spans: Span[] = [];

  /** From this commit on, this configuration may be in force; those before it may still be, too. */
  begin(setup: Generation, commit: number): void {
    this.#spans.push({ from: commit, to: Number.POSITIVE_INFINITY, setup });
  }

  /** Called when the queue is empty, or a new process has begun: after this commit, only the newest configuration is in force. */
  settle(commit: number): void {
    for (const span of this.#spans.slice(0, -1)) span.to = Math.min(span.to, commit);
  }

  /** The pipelines that may have been in force at this commit. */
  at(commit: number): readonly Generation['pipelines'][] {
    const found = this.#spans.filter(({ from, to }) => from <= commit && commit <= to);
    return [...new Set(found.map(({ setup }) => setup.pipelines))];
  }
}
