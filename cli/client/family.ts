// Which of the events that pass belong to a job or to anything below it.
import type { Client } from './client.ts';
import { segment } from './client.ts';
import { elements } from './elements.ts';
import type { StreamEvent } from './event-stream.ts';
import type { TreeJob } from './jobs.ts';

/** A larger tree is followed no further down than it was known then. */
const jobsMax = 10_000;
/** Jobs of others that are remembered, so that the tree is not read for them again. */
const strangersMax = 100_000;

/**
 * An event does not say whose descendant its job is, and the tree does: it is read again when jobs are met that nobody
 * knows. Events come after their commit, so whatever is not in the tree then belongs to others.
 */
export class Family {
  readonly #client: Client;
  readonly #id: string;
  readonly #members: Set<string>;
  #strangers = new Set<string>();
  #isFull = false;

  constructor(client: Client, id: string) {
    this.#client = client;
    this.#id = id;
    this.#members = new Set([id]);
  }

  /** Whether the tree has outgrown what is followed. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Those of the events that are about the job or a descendant, in their order. */
  async own(events: readonly StreamEvent[]): Promise<StreamEvent[]> {
    const ids = events.map(jobIdOf).filter(id => id !== null);
    const unknown = ids.filter(id => !this.#members.has(id) && !this.#strangers.has(id));
    if (unknown.length > 0 && !this.#isFull) await this.#read();
    if (this.#strangers.size > strangersMax) this.#strangers = new Set();
    for (const id of unknown) if (!this.#members.has(id)) this.#strangers.add(id);
    return events.filter(event => this.#members.has(jobIdOf(event) ?? ''));
  }

  async #read(): Promise<void> {
    const { body } = await this.#client.open('GET', `/job/${segment(this.#id)}/tree`);
    for await (const job of elements(body!) as AsyncGenerator<TreeJob>) {
      this.#members.add(job.job_id);
      this.#isFull = this.#members.size >= jobsMax;
      if (this.#isFull) return;
    }
  }
}

function jobIdOf({ fields }: StreamEvent): string | null {
  const id = fields['job_id'];
  return typeof id === 'string' ? id : null;
}
