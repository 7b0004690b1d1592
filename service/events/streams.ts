// All open event streams: who reads where, and handing out what is new, a little at a time, so that nothing else waits for it.
import type { Hub } from '../../actors/hub/actor.ts';
import type { Filter } from '../../actors/hub/filter.ts';
import { chunkCharsMax, type Feed, Feeds } from './frames.ts';

/** Open at once; more are refused. */
export const streamsMax = 2_048;
/**
 * What may wait in the service for one reader, beside what the system's socket buffers hold: a chunk that did not get
 * through shows with the next one at the latest. Characters beyond Latin-1 take up to three bytes.
 */
export const streamBytesMax = 2 * 3 * (chunkCharsMax + 16_384);
/** Between two comment lines on a stream. */
export const beatMs = 15_000;
/** What is new is handed out at most so often, and each time for so long; the rest waits for the next time. */
const passMs = 10;
const passMsMax = 2;
/** How often beats and expiries are looked after. */
const sweepMs = 250;

/** Where frames go. */
export interface Outlet {
  /** False: the reader is slower than this. */
  write(text: string): boolean;
  /** Calls once, when there is room again. */
  onReady(resume: () => void): void;
  end(): void;
}

/** What a stream may carry, and when its caller's token ends; null: never. */
export type StreamRights = { readonly withErrors: boolean; readonly expiresAtMs: number | null };

export type StreamOptions = {
  readonly sink: Outlet;
  readonly filter: Filter;
  /** The last id that the reader has seen; null: from now on. */
  readonly after: number | null;
  /** What its caller may read, by the configuration in force; null: nothing. */
  rights(): StreamRights | null;
};

type Stream = Pick<StreamOptions, 'sink' | 'filter'> & {
  readonly currentRights: () => StreamRights | null;
  rights: StreamRights;
  feed: Feed;
  leave: () => void;
  seen: number;
  beatAtMs: number;
  isBlocked: boolean;
};

export type EventStreamsOptions = {
  readonly hub: Hub;
  readonly nowMs: () => number;
  /** Changes with each reload: then every caller is looked at again. */
  readonly generation: () => unknown;
};

export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #hub: Hub;
  readonly #feeds: Feeds;
  readonly #streams: Stream[] = [];
  /** Where the next pass begins: readers take turns. */
  #turn = 0;
  #passTimer: NodeJS.Timeout | null = null;
  #sweepTimer: NodeJS.Timeout | null = null;
  #passedAtMs = 0;
  #generation: unknown;
  #unsubscribe: (() => void) | null = null;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    this.#hub = options.hub;
    this.#feeds = new Feeds(options.hub);
    this.#generation = options.generation();
  }

  get count(): number {
    return this.#streams.length;
  }

  get isFull(): boolean {
    return this.#streams.length >= streamsMax;
  }

  /** Returns how to forget it when its reader is gone. */
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
    // The head of the answer goes out with the first write.
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

  /** One chunk for each that has something to read, as far as the time goes. */
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

  /** After a reload every stream has the rights that its caller has by the new configuration. */
  #followReload(): void {
    const generation = this.#options.generation();
    if (generation === this.#generation) return;
    this.#generation = generation;
    for (const stream of [...this.#streams]) this.#takeRights(stream);
  }

  /** Takes the rights of its caller as they are now; without any the stream ends. */
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

  /** Beats where they are due, and ends streams whose token has expired. */
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

/** Also where the clock was set back: the time for which the beat was planned is a long way off then. */
function isDue(beatAtMs: number, nowMs: number): boolean {
  return beatAtMs <= nowMs || beatAtMs > nowMs + beatMs;
}
