// The reads that are in progress on the reads thread. The main thread asks for the answer of a read chunk by chunk, or drops the read.

import { Dropped, type Share, type Sliced, type Slices } from '../../runtime/slices.ts';
import { IndexUnavailable } from '../../runtime/store/store.ts';
import { type JsonPart, jsonChunks } from '../json/chunks.ts';
import type { AnswerRead } from './answers.ts';
import type { Read } from './reads.ts';

/** The minimum length of each chunk except the last one. */
export const chunkCharsMin = 65_536;

/**
 * The maximum total size of the stored values, timelines and readings of the stopwatch that active reads hold in memory. If a read brings the total above this maximum,
 * other reads that hold values are cancelled, so callers that stop reading cannot exhaust the memory. The read that was asked for a chunk least
 * recently is cancelled first. A single value may be larger.
 */
export const heldBytesMax = 256 * 2 ** 20;

export type ReadChunk =
  | { readonly kind: 'text'; readonly text: string; readonly isLast: boolean }
  /** The job to be read does not exist. */
  | { readonly kind: 'missing' }
  /** The search index cannot be opened. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

type ActiveRead = { readonly share: Share; pieces: Iterator<string> | null; heldBytes: number };

const givenUp: ReadChunk = {
  kind: 'failed',
  reason: 'the caller stopped reading, and other reads needed the memory',
};

export class ActiveReads {
  readonly #slices: Slices;
  readonly #answering: AnswerRead;
  /** The active reads by id. The read that was asked for a chunk least recently comes first. */
  readonly #underWay = new Map<number, ActiveRead>();
  /** The reads that were cancelled to free memory, and whose callers have not got the reply `givenUp` yet. */
  readonly #givenUp = new Set<number>();
  #heldBytes = 0;

  constructor(slices: Slices, answering: AnswerRead) {
    this.#slices = slices;
    this.#answering = answering;
  }

  get isIdle(): boolean {
    return this.#underWay.size === 0;
  }

  /** Begins a read. Resolves with its first chunk, or with null if the read was dropped. */
  begin(id: number, read: Read): Promise<ReadChunk | null> {
    const underWay: ActiveRead = { share: this.#slices.share(), pieces: null, heldBytes: 0 };
    this.#underWay.set(id, underWay);
    return this.#guarded(id, async () => {
      const hold = (bytes: number): void => {
        if (this.#underWay.has(id)) this.#hold(underWay, bytes);
      };
      const parts = await this.#answering(read, underWay.share, hold);
      if (parts === null) {
        this.drop(id);
        return { kind: 'missing' };
      }
      underWay.pieces = jsonChunks(this.#weighed(parts, underWay))[Symbol.iterator]();
      return this.#next(id, underWay);
    });
  }

  /** Resolves with the next chunk of a read, or with null if the read was dropped. */
  async more(id: number): Promise<ReadChunk | null> {
    const underWay = this.#underWay.get(id);
    if (!underWay) return this.#givenUp.delete(id) ? givenUp : null;
    this.#underWay.delete(id);
    this.#underWay.set(id, underWay);
    return this.#guarded(id, () => this.#next(id, underWay));
  }

  /** Ends a read, and frees its memory. */
  drop(id: number): void {
    this.#givenUp.delete(id);
    const underWay = this.#underWay.get(id);
    if (!underWay) return;
    underWay.share.close();
    this.#underWay.delete(id);
    this.#hold(underWay, 0);
  }

  /** Yields the given parts, and counts each stored value as held (`#hold`) while it is being written. */
  *#weighed(parts: Iterable<JsonPart>, underWay: ActiveRead): Iterable<JsonPart> {
    for (const part of parts) {
      if (typeof part === 'string') {
        yield part;
        continue;
      }
      yield () => {
        const packed = part();
        this.#hold(underWay, packed.length);
        return packed;
      };
      this.#hold(underWay, 0);
    }
  }

  #hold(underWay: ActiveRead, bytes: number): void {
    this.#heldBytes += bytes - underWay.heldBytes;
    underWay.heldBytes = bytes;
    if (bytes === 0) return;
    for (const [id, other] of this.#underWay) {
      if (this.#heldBytes <= heldBytesMax) return;
      if (other === underWay || other.heldBytes === 0) continue;
      this.drop(id);
      this.#givenUp.add(id);
    }
  }

  async #next(id: number, { share, pieces }: ActiveRead): Promise<ReadChunk> {
    const chunk = await share.run(nextChunk(pieces!));
    if (chunk.isLast) this.drop(id);
    return { kind: 'text', ...chunk };
  }

  async #guarded(id: number, act: () => Promise<ReadChunk>): Promise<ReadChunk | null> {
    try {
      return await act();
    } catch (error) {
      const wasGivenUp = this.#givenUp.has(id);
      this.drop(id);
      if (error instanceof Dropped) return wasGivenUp ? givenUp : null;
      if (error instanceof IndexUnavailable) return { kind: 'unavailable', reason: error.message };
      const { stack, message } = error as Error;
      return { kind: 'failed', reason: stack ?? message };
    }
  }
}

function* nextChunk(pieces: Iterator<string>): Sliced<{ readonly text: string; readonly isLast: boolean }> {
  let text = '';
  for (let next = pieces.next(); !next.done; next = pieces.next()) {
    text += next.value;
    if (text.length >= chunkCharsMin) return { text, isLast: false };
    yield;
  }
  return { text, isLast: true };
}
