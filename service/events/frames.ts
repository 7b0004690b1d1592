// Writes observations as frames of an event stream. Each frame has `id:`, `event:`, and `data:` with one line of JSON.

import { type Filter, filterKey } from '../../actors/hub/filter.ts';
import { type Gap, type Hub, idAt, type ObservationSlice } from '../../actors/hub/hub.ts';
import type { GroupOrigins } from '../../actors/hub/origins.ts';
import { timestamp } from '../json/timestamp.ts';

/** A chunk ends after the observation that brings its text to this many characters, or earlier. */
export const chunkCharsMax = 32_768;
const chunkObservationsMax = 512;
/** The maximum size of all cached chunks together, in characters. */
export const keptCharsMax = 4 * 2 ** 20;
/** The number of characters that is counted for each cached chunk in addition to its text. */
const chunkChars = 128;

/** The frames of the observations after one id, up to and including the id `upTo`. `gap`: if the first frame is a gap, its reason. */
export type FrameChunk = { readonly text: string; readonly upTo: number; readonly gap?: Gap['reason'] };

class ChunkCache {
  readonly #chunks = new Map<string, FrameChunk>();
  #chars = 0;

  get chars(): number {
    return this.#chars;
  }

  get(key: string): FrameChunk | undefined {
    return this.#chunks.get(key);
  }

  /** Adds a chunk, and drops the oldest chunks while the cache is too large. */
  put(key: string, chunk: FrameChunk): void {
    this.#chunks.set(key, chunk);
    this.#chars += chunkChars + chunk.text.length;
    for (const [oldest, { text }] of this.#chunks) {
      if (this.#chars <= keptCharsMax) return;
      this.#chunks.delete(oldest);
      this.#chars -= chunkChars + text.length;
    }
  }
}

/** Writes the observations that a filter selects. Streams of this writer that are at the same position share the written chunks. */
export class FrameWriter {
  readonly #hub: Hub;
  readonly #filter: Filter;
  readonly #withErrors: boolean;
  readonly #kept: ChunkCache;
  /** A number that distinguishes the chunks of this writer in the cache from those of other writers. */
  readonly #number: number;
  /** The number of streams that read from this writer. */
  readers = 0;

  constructor(hub: Hub, filter: Filter, withErrors: boolean, kept: ChunkCache, number: number) {
    this.#hub = hub;
    this.#filter = filter;
    this.#withErrors = withErrors;
    this.#kept = kept;
    this.#number = number;
  }

  after(id: number): FrameChunk {
    const key = `${this.#number} ${id}`;
    const known = this.#kept.get(key);
    // If the ring no longer has the next observation, the cached chunk is not used: the stream must report the gap.
    if (known && id >= this.#hub.oldest - 1) return known;
    const { work } = this.#hub;
    const { gap, slices, upTo } = this.#hub.read(this.#filter, id, chunkObservationsMax);
    const chunk = this.#write(gap, slices, upTo, work);
    // A chunk with a gap is not cached, because the number of lost observations grows.
    if (gap !== null) return { ...chunk, gap: gap.reason };
    if (chunk.upTo > id) this.#kept.put(key, chunk);
    return chunk;
  }

  #write(gap: Gap | null, slices: readonly ObservationSlice[], upTo: number, work: number): FrameChunk {
    let text = gap === null ? '' : gapFrame(gap);
    for (const slice of slices) {
      const { id, group, from, to, origins } = slice;
      if (group.kind === 'plain') {
        text += frame(id, group.type, `{"at":"${timestamp(group.atUs)}"${fieldsText(group.fields)}}`);
      } else {
        const names = `"plugin":${JSON.stringify(group.plugin)},"command":${JSON.stringify(group.command)}`;
        const head = `\nevent: ${group.type}\ndata: {"at":"${timestamp(group.atUs)}",${names},"job_id":"`;
        for (let place = from; place < to; place++) {
          const error = this.#withErrors ? group.errors?.[place] : null;
          const tail = error ? `,"error":${JSON.stringify(error)}}\n\n` : '}\n\n';
          text += `id: ${id + place - from}${head}${idAt(group.ids, place)}"${originText(origins, place)}${tail}`;
          if (text.length >= chunkCharsMax || this.#hub.isSpent(work)) return { text, upTo: id + place - from };
        }
      }
      if (text.length >= chunkCharsMax) return { text, upTo: id + to - from - 1 };
    }
    return { text, upTo };
  }
}

/** The frame writers: one for each filter, with or without errors. Each writer exists as long as streams use it. */
export class FrameWriters {
  readonly #hub: Hub;
  readonly #feeds = new Map<string, FrameWriter>();
  readonly #kept = new ChunkCache();
  #numbers = 0;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  get keptChars(): number {
    return this.#kept.chars;
  }

  /** Returns the writer for a filter, and a function to call when the stream no longer uses it. */
  join(filter: Filter, withErrors: boolean): { readonly feed: FrameWriter; leave(): void } {
    const key = `${filterKey(filter)} ${withErrors}`;
    const feed = this.#feeds.get(key) ?? new FrameWriter(this.#hub, filter, withErrors, this.#kept, ++this.#numbers);
    this.#feeds.set(key, feed);
    feed.readers++;
    const leave = (): void => {
      feed.readers--;
      if (feed.readers === 0) this.#feeds.delete(key);
    };
    return { feed, leave };
  }
}

function gapFrame({ id, lost, reason }: Gap): string {
  const at = timestamp(Date.now() * 1000);
  return frame(id, 'gap', JSON.stringify({ at, lost, reason }));
}

/**
 * The JSON fields for the origin and the tags of a job. For a run that has ended, also the number of its jobs by status, and of the jobs that were
 * not started. Empty if the origin of the job cannot be found.
 */
function originText(origins: GroupOrigins | null, place: number): string {
  const origin = origins?.at(place);
  if (!origin) return '';
  const run = origin.runs[0];
  const { counts = null, notStarted = null } = origins!.endedAt(place) ?? {};
  return (
    `,"root_id":"${origin.root}","run_id":${run === undefined ? 'null' : `"${run}"`}` +
    (origin.tags === undefined ? '' : `,"tags":${origin.tags}`) +
    (counts === null ? '' : `,"counts":${JSON.stringify(counts)}`) +
    (notStarted === null ? '' : `,"children_not_started":${JSON.stringify(notStarted)}`)
  );
}

function frame(id: number, type: string, data: string): string {
  return `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`;
}

function fieldsText(fields: object): string {
  return Object.entries(fields)
    .map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
    .join('');
}
