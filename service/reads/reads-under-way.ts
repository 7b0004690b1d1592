// The reads that are under way on their thread: each is asked for its answer piece by piece, or dropped.

import { Dropped, type Share, type Sliced, type Slices } from '../../runtime/slices.ts';
import { IndexUnavailable } from '../../runtime/store/store.ts';
import { type JsonPart, jsonPieces } from '../json/pieces.ts';
import type { Answering } from './answers.ts';
import type { Read } from './reads.ts';

/** So much text at least is handed over in one piece, unless it is the last. */
export const chunkCharsMin = 65_536;

/**
 * What all reads may hold together of stored values whose text is under way, in bytes. With more, the read that its caller has left
 * longest without asking on is given up: callers that take nothing fill no more memory than this. One value alone may be larger.
 */
export const heldBytesMax = 256 * 2 ** 20;

export type Chunk =
  | { readonly kind: 'text'; readonly text: string; readonly isLast: boolean }
  /** There is no such job. */
  | { readonly kind: 'missing' }
  /** The search index cannot be opened. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

type UnderWay = { readonly share: Share; pieces: Iterator<string> | null; heldBytes: number };

const givenUp: Chunk = { kind: 'failed', reason: 'its caller took nothing for too long, and others needed the memory' };

export class Desk {
  readonly #slices: Slices;
  readonly #answering: Answering;
  /** The reads that were asked longest ago come first. */
  readonly #underWay = new Map<number, UnderWay>();
  readonly #givenUp = new Set<number>();
  #heldBytes = 0;

  constructor(slices: Slices, answering: Answering) {
    this.#slices = slices;
    this.#answering = answering;
  }

  get isIdle(): boolean {
    return this.#underWay.size === 0;
  }

  /** The first chunk of a read. Null: it was dropped. */
  begin(id: number, read: Read): Promise<Chunk | null> {
    const underWay: UnderWay = { share: this.#slices.share(), pieces: null, heldBytes: 0 };
    this.#underWay.set(id, underWay);
    return this.#guarded(id, async () => {
      const parts = await this.#answering(read, underWay.share);
      if (parts === null) {
        this.drop(id);
        return { kind: 'missing' };
      }
      underWay.pieces = jsonPieces(this.#weighed(parts, underWay))[Symbol.iterator]();
      return this.#next(id, underWay);
    });
  }

  /** The next one. */
  async more(id: number): Promise<Chunk | null> {
    const underWay = this.#underWay.get(id);
    if (!underWay) return this.#givenUp.delete(id) ? givenUp : null;
    this.#underWay.delete(id);
    this.#underWay.set(id, underWay);
    return this.#guarded(id, () => this.#next(id, underWay));
  }

  /** Nobody waits for it any longer. */
  drop(id: number): void {
    this.#givenUp.delete(id);
    const underWay = this.#underWay.get(id);
    if (!underWay) return;
    underWay.share.close();
    this.#underWay.delete(id);
    this.#hold(underWay, 0);
  }

  /** The parts, while what is held of each stored value is counted. */
  *#weighed(parts: Iterable<JsonPart>, underWay: UnderWay): Iterable<JsonPart> {
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

  #hold(underWay: UnderWay, bytes: number): void {
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

  async #next(id: number, { share, pieces }: UnderWay): Promise<Chunk> {
    const chunk = await share.run(nextChunk(pieces!));
    if (chunk.isLast) this.drop(id);
    return { kind: 'text', ...chunk };
  }

  async #guarded(id: number, act: () => Promise<Chunk>): Promise<Chunk | null> {
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
