// The open event streams. New events are written in short passes, so other requests do not wait long.

import type { Filter } from '../../actors/hub/filter.ts';
import type { Hub } from '../../actors/hub/hub.ts';
import { chunkCharsMax, type FrameWriter, FrameWriters } from './frames.ts';

/** The maximum number of open streams. Further streams are refused. */
export const streamsMax = 2_048;
/**
 * The maximum number of bytes that wait in the service for one reader, not counting the socket's buffers. It is the size of two chunks: a chunk that
 * the reader did not take, and at most one chunk that is written after it. A chunk may exceed `chunkCharsMax` by its last observation, for which
 * 16,384 characters are counted. A character takes up to three bytes.
 */
export const streamBytesMax = 2 * 3 * (chunkCharsMax + 16_384);
/** The time until the next comment line of a stream is due. These lines keep its connection open. */
export const beatMs = 15_000;
/** The minimum interval between passes over the streams. */
const passMs = 10;
/** A pass that has taken this long visits no further stream. */
const passMsMax = 2;
/** The interval at which all streams are checked for due comment lines and expired tokens. */
const sweepMs = 250;

/** The connection to the reader of a stream. */
export interface StreamOutlet {
  /** Returns false if the reader is too slow. */
  write(text: string): boolean;
  /** Calls `resume` once, when there is room again. */
  onReady(resume: () => void): void;
  end(): void;
}

/** Whether the caller of a stream may see errors, and when the caller's token expires (null: never). */
export type StreamRights = { readonly withErrors: boolean; readonly expiresAtMs: number | null };

export type StreamOptions = {
  readonly sink: StreamOutlet;
  readonly filter: Filter;
  /** The last id that the reader has seen; null if the reader wants only new events. */
  readonly after: number | null;
  /** The caller's rights under the configuration in force; null if the caller has none. */
  rights(): StreamRights | null;
};

type Stream = Pick<StreamOptions, 'sink' | 'filter'> & {
  readonly currentRights: () => StreamRights | null;
  rights: StreamRights;
  feed: FrameWriter;
  leave: () => void;
  seen: number;
  beatAtMs: number;
  isBlocked: boolean;
};

export type EventStreamsOptions = {
  readonly hub: Hub;
  readonly nowMs: () => number;
  /**
   * Values that change with each reload, and each time that sessions of the dashboard are ended. After each change, the rights of the
   * callers of all streams are checked again.
   */
  readonly generation: () => readonly unknown[];
};

export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #hub: Hub;
  readonly #feeds: FrameWriters;
  readonly #streams: Stream[] = [];
  /** How many gaps were reported to readers, by reason. */
  readonly gaps = new Map<string, number>();
  /** The index of the stream that was visited last. */
  #turn = 0;
  #passTimer: NodeJS.Timeout | null = null;
  #sweepTimer: NodeJS.Timeout | null = null;
  #passedAtMs = 0;
  #generation: readonly unknown[];
  #unsubscribe: (() => void) | null = null;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    this.#hub = options.hub;
    this.#feeds = new FrameWriters(options.hub);
    this.#generation = options.generation();
  }

  get count(): number {
    return this.#streams.length;
  }

  get isFull(): boolean {
    return this.#streams.length >= streamsMax;
  }

  /**
   * Adds a stream, or ends it at once if the caller has no rights. Returns a function to call when the reader has disconnected.
   */
  open({ sink, filter, after, rights: currentRights }: StreamOptions): () => void {
    const rights = currentRights();
    if (rights === null) {
      sink.end();
      return () => {};
    }
    const stream: Stream = {
      sink,
      filter,
      currentRights,
      rights,
      ...this.#feeds.join(filter, rights.withErrors),
      seen: after ?? this.#hub.newest,
      beatAtMs: this.#options.nowMs() + beatMs,
      isBlocked: false,
    };
    this.#streams.push(stream);
    if (this.#streams.length === 1) this.#wakeUp();
    // This first write also sends the head of the response.
    stream.sink.write(': connected\n\n');
    if (stream.seen !== this.#hub.newest) this.#schedule();
    return () => this.#forget(stream);
  }

  #wakeUp(): void {
    this.#generation = this.#options.generation();
    this.#unsubscribe = this.#hub.onNews(() => this.#schedule());
    this.#sweepTimer = setInterval(() => this.#sweep(), sweepMs);
    this.#sweepTimer.unref();
  }

  #forget(stream: Stream): void {
    const at = this.#streams.indexOf(stream);
    if (at < 0) return;
    this.#streams.splice(at, 1);
    stream.leave();
    if (this.#streams.length > 0) return;
    this.#unsubscribe?.();
    clearInterval(this.#sweepTimer!);
  }

  #schedule(): void {
    if (this.#passTimer !== null) return;
    const waitMs = Math.max(0, this.#passedAtMs + passMs - performance.now());
    this.#passTimer = setTimeout(() => this.#pass(), waitMs);
  }

  /** Writes one chunk to each stream that is behind and can take it, for at most about `passMsMax`. */
  #pass(): void {
    this.#passTimer = null;
    this.#followChange();
    const endMs = performance.now() + passMsMax;
    const { newest } = this.#hub;
    let isBehind = false;
    let visits = this.#streams.length;
    for (; visits > 0 && this.#streams.length > 0 && performance.now() < endMs; visits--) {
      this.#turn = (this.#turn + 1) % this.#streams.length;
      const stream = this.#streams[this.#turn];
      if (!stream || stream.isBlocked || stream.seen === newest) continue;
      this.#handOut(stream);
      isBehind ||= !stream.isBlocked && stream.seen !== newest;
    }
    this.#passedAtMs = performance.now();
    if (isBehind || visits > 0) this.#schedule();
  }

  #handOut(stream: Stream): void {
    const { text, upTo, gap } = stream.feed.after(stream.seen);
    stream.seen = upTo;
    if (gap !== undefined) this.gaps.set(gap, (this.gaps.get(gap) ?? 0) + 1);
    if (text !== '') this.#write(stream, text);
  }

  #write(stream: Stream, text: string): void {
    if (stream.sink.write(text)) return;
    stream.isBlocked = true;
    stream.sink.onReady(() => {
      stream.isBlocked = false;
      if (stream.seen !== this.#hub.newest) this.#schedule();
    });
  }

  /** After a reload, or after the end of a session, gives every stream the current rights of its caller. */
  #followChange(): void {
    const generation = this.#options.generation();
    if (generation.every((value, place) => value === this.#generation[place])) return;
    this.#generation = generation;
    for (const stream of [...this.#streams]) this.#takeRights(stream);
  }

  /** Updates the rights of a stream. Ends the stream if its caller has no rights any more. */
  #takeRights(stream: Stream): void {
    const rights = stream.currentRights();
    if (rights === null) {
      this.#end(stream);
      return;
    }
    if (rights.withErrors !== stream.rights.withErrors) {
      stream.leave();
      Object.assign(stream, this.#feeds.join(stream.filter, rights.withErrors));
    }
    stream.rights = rights;
  }

  /** Writes due comment lines, and ends streams whose token has expired. */
  #sweep(): void {
    this.#followChange();
    const nowMs = this.#options.nowMs();
    const endMs = performance.now() + passMsMax;
    for (const stream of [...this.#streams]) {
      const { expiresAtMs } = stream.rights;
      if (expiresAtMs !== null && expiresAtMs <= nowMs) this.#end(stream);
      else if (isDue(stream.beatAtMs, nowMs) && performance.now() < endMs) {
        stream.beatAtMs = nowMs + beatMs;
        if (!stream.isBlocked) this.#write(stream, ': beat\n\n');
      }
    }
  }

  #end(stream: Stream): void {
    this.#forget(stream);
    stream.sink.end();
  }
}

/** Whether a comment line is due. Also true if the clock was set back so far that the planned time is more than an interval away. */
function isDue(beatAtMs: number, nowMs: number): boolean {
  return beatAtMs <= nowMs || beatAtMs > nowMs + beatMs;
}
