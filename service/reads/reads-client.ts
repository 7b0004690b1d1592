// The main thread's side of the reads thread: it sends reads there, limits their number, and handles the death of the thread.
import type { Moment, Selection } from '../../actors/job/records/action.ts';
import type { Findings } from '../../actors/job/views/selfcheck.ts';
import { type LoadOptions, type LoadResult, received } from '../../config/load.ts';
import { type Link, ThreadGone } from '../../runtime/link.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Running } from '../../runtime/supervisor.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import type { SandboxCheck, SandboxedPlugin } from '../doctor/sandboxes.ts';
import { startThread } from '../start-thread.ts';
import { readsThread } from '../threads.ts';
import type { ReadChunk } from './active-reads.ts';
import type { Inspection } from './inspection.ts';
import {
  type AnswerSink,
  type Disconnectable,
  type Read,
  type ReadAnswer,
  ReadsDown,
  readsDownDetail,
} from './reads.ts';
import type { Counted, CountQuery, MatchPage, PageQuery } from './selecting.ts';
import type { ReadsData, ThreadReply } from './thread.ts';

/**
 * The maximum number of reads in progress. A read counts until its last chunk has arrived on the main thread, or until it is dropped. Further
 * reads are refused, except reads of kind `run`.
 */
export const readsMax = 512;

export class ReadsClient {
  readonly #askIdle: (ids: Uint8Array) => Promise<Uint8Array | null>;
  #link: Link | null = null;
  #underWay = 0;
  #lastId = 0;

  /** `askIdle` asks the ledger which of the jobs `ids` are in no host. */
  constructor(askIdle: (ids: Uint8Array) => Promise<Uint8Array | null>) {
    this.#askIdle = askIdle;
  }

  get isUp(): boolean {
    return this.#link !== null;
  }

  /** Starts the thread. Resolves when it is up. */
  async start(data: ReadsData, log: Logger): Promise<Running> {
    const { worker, link, died } = await startThread(readsThread, data, log, async (_, message, from) => {
      const { ids, replyTo } = message as { readonly ids: Uint8Array; readonly replyTo: ReplyTo };
      from.reply(replyTo, await this.#askIdle(ids));
    });
    this.#link = link;
    void died.then(() => {
      if (this.#link === link) this.#link = null;
    });
    // The thread only reads, so the service need not wait for its end. It continues to answer reads while the service stops.
    worker.unref();
    return { died, stop: async () => {} };
  }

  /**
   * Reads an answer, which includes every commit of the ledger that preceded the call; the index may lag behind the ledger. The read ends
   * early if the caller disconnects.
   */
  async answer(read: Read, call: Disconnectable): Promise<ReadAnswer> {
    // A read of kind `run` is the answer to a call that waited for its run. The limit does not apply to such a read, because the
    // run's work is done.
    if (this.#underWay >= readsMax && read.kind !== 'run') {
      return refused('too_many_reads', `${readsMax} reads are in progress, which is the limit`);
    }
    const link = this.#link;
    if (link === null) return gone();
    const underWay = this.#begin(link);
    call.onGone(underWay.drop);
    let chunk: ReadChunk | null;
    try {
      chunk = await link.ask<ReadChunk | null>('reads', { kind: 'begin', id: underWay.id, read });
    } catch {
      underWay.end();
      return gone();
    }
    if (chunk?.kind === 'text' && !chunk.isLast) return streamed(chunk.text, underWay);
    underWay.end();
    // If the chunk is null, the caller has disconnected, and this answer is not sent.
    if (chunk === null || chunk.kind === 'missing') return refused('unknown_job', 'the job is no longer stored');
    if (chunk.kind === 'unavailable') return refused('unavailable', chunk.reason);
    if (chunk.kind === 'failed') throw new Error(chunk.reason);
    return { kind: 'whole', text: chunk.text };
  }

  /** Runs the selfcheck. Rejects with `ReadsDown` while the thread restarts, as the following methods do. */
  selfcheck(): Promise<Findings> {
    return this.#ask<Findings>({ kind: 'selfcheck' });
  }

  /** Counts the jobs that match the filter of an action. If the caller disconnects, the count ends early, with null. */
  countMatches(selection: Selection, moment: Moment, call: Disconnectable): Promise<Counted | null> {
    const link = this.#link;
    const id = ++this.#lastId;
    call.onGone(() => link?.tell('reads', { kind: 'drop', id }));
    return this.#ask<Counted | null>({ kind: 'count_matches', id, selection, moment } satisfies CountQuery);
  }

  /** Finds the next jobs that match the filter of an action. */
  nextMatches(wanted: Omit<PageQuery, 'kind'>): Promise<MatchPage> {
    return this.#ask<MatchPage>({ kind: 'next_matches', ...wanted } satisfies PageQuery);
  }

  /** Reads and checks the configuration on disk, like `loadConfig`. */
  async load(options: Omit<LoadOptions, 'env'>): Promise<LoadResult> {
    return received(await this.#ask<LoadResult>({ kind: 'load', options }));
  }

  /** Finds out what is wrong with the configuration on disk. */
  inspect(options: Omit<LoadOptions, 'env'>): Promise<Inspection> {
    return this.#ask<Inspection>({ kind: 'inspect', options });
  }

  /** Finds out which of these sandboxes this machine cannot provide, and which kinds it can provide. */
  trySandboxes(asked: readonly SandboxedPlugin[]): Promise<SandboxCheck> {
    return this.#ask<SandboxCheck>({ kind: 'try_sandboxes', asked });
  }

  async #ask<T>(message: object): Promise<T> {
    if (this.#link === null) throw new ReadsDown('the reads thread is starting');
    const outcome = await this.#link.ask<ThreadReply<T>>('reads', message).catch(error => {
      // If the thread has ended without an answer, the caller gets a `ReadsDown`.
      throw error instanceof ThreadGone ? new ReadsDown(error.message, { cause: error }) : error;
    });
    if ('fault' in outcome) throw new Error(outcome.fault);
    return outcome.value;
  }

  #begin(link: Link): PendingRead {
    const id = ++this.#lastId;
    let isOver = false;
    this.#underWay++;
    const end = (): void => {
      if (!isOver) this.#underWay--;
      isOver = true;
    };
    const drop = (): void => {
      if (!isOver) link.tell('reads', { kind: 'drop', id });
      end();
    };
    return { id, more: () => link.ask<ReadChunk | null>('reads', { kind: 'more', id }), end, drop };
  }
}

type Refused = Extract<ReadAnswer, { readonly kind: 'refused' }>;

/** A read that counts towards `readsMax` until `end` or `drop` is called. */
type PendingRead = {
  readonly id: number;
  more(): Promise<ReadChunk | null>;
  /** Called when the read is complete or has failed. */
  end(): void;
  /** Called when the caller needs no further chunks: cancels the read. */
  drop(): void;
};

function refused(refusal: Refused['refusal'], detail: string): ReadAnswer {
  return { kind: 'refused', refusal, detail };
}

function gone(): ReadAnswer {
  return refused('unavailable', readsDownDetail);
}

function streamed(first: string, underWay: PendingRead): ReadAnswer {
  let isOpen = false;
  // An answer that is not opened in this iteration of the event loop is never opened: the request is a HEAD, or the caller has
  // disconnected.
  setImmediate(() => {
    if (!isOpen) underWay.drop();
  });
  return {
    kind: 'pieces',
    open(sink) {
      isOpen = true;
      sink.write(first);
      sink.onReady(() => void writeNext(sink, underWay));
    },
  };
}

/** Called when there is room for another chunk: asks for the next chunk, and writes it. */
async function writeNext(sink: AnswerSink, underWay: PendingRead): Promise<void> {
  try {
    const chunk = await underWay.more();
    // The caller has disconnected.
    if (chunk === null) return underWay.end();
    if (chunk.kind !== 'text')
      throw new Error(chunk.kind === 'failed' ? chunk.reason : 'the rest of the answer is missing');
    sink.write(chunk.text);
    if (!chunk.isLast) return sink.onReady(() => void writeNext(sink, underWay));
    underWay.end();
    sink.end();
  } catch (error) {
    underWay.end();
    // An exception in this callback closes the connection: the caller must see that the answer is incomplete.
    sink.onReady(() => {
      throw error;
    });
  }
}
