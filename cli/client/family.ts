// Which of the events that pass belong to a job or to anything below it.
import { exitStatus } from '../exit-status.ts';
import { Failure } from '../failure.ts';
import type { Client } from './client.ts';
import type { StreamEvent } from './event-stream.ts';
import { treeJobs } from './tree.ts';

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
    if (unknown.length > 0 && !this.#isFull) await this.#learn(unknown);
    return events.filter(event => this.#members.has(jobIdOf(event) ?? ''));
  }

  /** While the service is away nobody can tell: whoever is still unknown is asked for with the next event. */
  async #learn(unknown: readonly string[]): Promise<void> {
    try {
      for await (const job of treeJobs(this.#client, this.#id)) {
        this.#members.add(job.job_id);
        this.#isFull = this.#members.size >= jobsMax;
        if (this.#isFull) return;
      }
    } catch (error) {
      if (error instanceof Failure && error.exitStatus === exitStatus.unavailable) return;
      throw error;
    }
    if (this.#strangers.size > strangersMax) this.#strangers = new Set();
    for (const id of unknown) if (!this.#members.has(id)) this.#strangers.add(id);
  }
}

function jobIdOf({ fields }: StreamEvent): string | null {
  const id = fields['job_id'];
  return typeof id === 'string' ? id : null;
}
