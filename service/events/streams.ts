// All open event streams. New events are written in short passes, so that no other request waits for them.

import type { Filter } from '../../actors/hub/filter.ts';
import type { Hub } from '../../actors/hub/hub.ts';
import { chunkCharsMax, type FrameWriter, FrameWriters } from './frames.ts';

/** Streams open at the same time; further ones are refused. */
export const streamsMax = 2_048;
/**
 * Bytes that can wait in the service for one reader, besides the socket's buffers: after a chunk that the reader did not take, at most
 * one more is written. Characters beyond Latin-1 take up to three bytes.
 */
export const streamBytesMax = 2 * 3 * (chunkCharsMax + 16_384);
/** Between two comment lines of a stream. */
export const beatMs = 15_000;
/** The interval and the maximum length of a pass over the streams. */
const passMs = 10;
const passMsMax = 2;
/** The interval of the check for due comment lines and expired tokens. */
const sweepMs = 250;

/** The receiver of frames. */
export interface StreamOutlet {
  /** False: the reader is too slow. */
  write(text: string): boolean;
  /** Calls the function once, when there is room again. */
  onReady(resume: () => void): void;
  end(): void;
}

/** What a stream may contain, and when its caller's token expires; null: never. */
export type StreamRights = { readonly withErrors: boolean; readonly expiresAtMs: number | null };

export type StreamOptions = {
  readonly sink: StreamOutlet;
  readonly filter: Filter;
  /** The last id that the reader has seen; null: only new events. */
  readonly after: number | null;
  /** The caller's rights under the configuration in force; null: none. */
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
  /** Changes with each reload; then the rights of every caller are checked again. */
  readonly generation: () => unknown;
};

export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #hub: Hub;
  readonly #feeds: FrameWriters;
  readonly #streams: Stream[] = [];
  /** The stream with which the next pass begins. */
  #turn = 0;
  #passTimer: NodeJS.Timeout | null = null;
  #sweepTimer: NodeJS.Timeout | null = null;
  #passedAtMs = 0;
  #generation: unknown;
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

  /** Returns a function to call when the reader has disconnected. */
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
    // The first write sends the response head.
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

  /** Writes one chunk to each stream that is behind, until the time is up. */
  #pass(): void {
    this.#passTimer = null;
    this.#followReload();
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
    const { text, upTo } = stream.feed.after(stream.seen);
    stream.seen = upTo;
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

  /** After a reload, gives every stream the rights of its caller under the new configuration. */
  #followReload(): void {
    const generation = this.#options.generation();
    if (generation === this.#generation) return;
    this.#generation = generation;
    for (const stream of [...this.#streams]) this.#takeRights(stream);
  }

  /** Updates the rights of a stream; without rights it ends. */
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
    this.#followReload();
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

/** True also if the clock was set back, which would put the planned time far into the future. */
function isDue(beatAtMs: number, nowMs: number): boolean {
  return beatAtMs <= nowMs || beatAtMs > nowMs + beatMs;
}
