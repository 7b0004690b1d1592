// The jobs of a block as the interface shows them. What is looked at is taken apart, and nothing else.
import type { Body } from '../../runtime/host/outcome.ts';
import { type BlockKey, formatId, idPrefix, indexText, jobId } from '../../runtime/ids.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { StoredAttempt } from './attempt.ts';
import type { Ending } from './attempts.ts';
import { type Block, groupOf } from './block.ts';
import { keyText, OpenBlock } from './open.ts';
import type { Status } from './record.ts';
import { decodeRetry } from './retries.ts';

/** A job as the interface shows it (2.1), with times in µs since the epoch. */
export type JobView = {
  readonly jobId: string;
  readonly parentJobId: string | null;
  readonly plugin: string;
  readonly command: string;
  readonly status: Status;
  readonly submittedBy: string;
  readonly attempt: number;
  readonly createdUs: number;
  readonly startedUs: number | null;
  readonly completedUs: number | null;
  /** What its last attempt left behind; null while there is another to come. */
  readonly body: Body | null;
  readonly lastError: string | null;
};

/** The open record of the block is read only when one of its jobs is open. */
export class Members {
  readonly #reader: Reader;
  readonly #key: BlockKey;
  readonly #block: Block;
  readonly #prefix: string;
  #open: OpenBlock | null | undefined = null;

  constructor(reader: Reader, key: BlockKey, block: Block) {
    this.#reader = reader;
    this.#key = key;
    this.#block = block;
    this.#prefix = idPrefix(key);
  }

  /** One of them, with its latest attempt that has ended. */
  view(index: number, ending: Ending | undefined): JobView {
    const runningUs = ending?.attempt.final ? null : this.#runningSince(index, ending !== undefined);
    return new StoredJob(this.#prefix + indexText(index), this.#block, index, ending, runningUs);
  }

  /** Null: it waits. A retried job says so in its record of retries; any other by its place in the open record. */
  #runningSince(index: number, retried: boolean): number | null {
    if (this.#open === null) this.#open = openOf(this.#reader, this.#key);
    if (this.#open === undefined) return null;
    if (!retried) return this.#open.isOut(index) ? this.#open.outUs : null;
    const bytes = this.#reader.get('retries', jobId(this.#key, index));
    const retry = bytes && decodeRetry(bytes);
    return retry && retry.stage !== 'waiting' ? retry.dueUs : null;
  }
}

class StoredJob implements JobView {
  readonly jobId: string;
  readonly status: Status;
  readonly #block: Block;
  readonly #index: number;
  readonly #last: Ending | undefined;
  /** Null: it does not run. */
  readonly #runningUs: number | null;

  constructor(id: string, block: Block, index: number, last: Ending | undefined, runningUs: number | null) {
    this.jobId = id;
    this.status = last?.attempt.final ? last.attempt.status : runningUs !== null ? 'running' : 'queued';
    this.#block = block;
    this.#index = index;
    this.#last = last;
    this.#runningUs = runningUs;
  }

  get parentJobId(): string | null {
    const { parent } = groupOf(this.#block, this.#index).group;
    return parent && formatId(parent);
  }

  get submittedBy(): string {
    return groupOf(this.#block, this.#index).group.submittedBy;
  }

  get plugin(): string {
    return this.#block.plugin;
  }

  get command(): string {
    return this.#block.command;
  }

  get attempt(): number {
    return (this.#last?.number ?? 0) + (this.#runningUs === null ? 0 : 1);
  }

  get createdUs(): number {
    return this.#block.createdUs;
  }

  get startedUs(): number | null {
    return this.#runningUs ?? this.#last?.attempt.startedUs ?? null;
  }

  /** The attempt with which it ended. */
  get #final(): StoredAttempt | undefined {
    return this.#last?.attempt.final ? this.#last.attempt : undefined;
  }

  get body(): Body | null {
    return this.#final?.body ?? null;
  }

  get completedUs(): number | null {
    return this.#final?.completedUs ?? null;
  }

  get lastError(): string | null {
    return this.#last?.attempt.text('error') ?? null;
  }
}

export function openOf(reader: Reader, key: BlockKey): OpenBlock | undefined {
  const bytes = reader.get('open', key);
  return bytes && OpenBlock.decode(keyText(key), bytes);
}
