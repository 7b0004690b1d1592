// Observations as frames of an event stream: `id:`, `event:`, and `data:` with one line of JSON.
import { type Gap, type Hub, idAt, type Stretch } from '../../actors/hub/actor.ts';
import { type Filter, filterKey } from '../../actors/hub/filter.ts';
import type { GroupOrigins } from '../../actors/hub/origins.ts';
import { timestamp } from '../json/timestamp.ts';

/** A chunk ends with the observation that takes it past so many characters. */
export const chunkCharsMax = 32_768;
/** Observations of one chunk. */
const chunkObservationsMax = 512;
/** Of all chunks together that are kept for others that want the same: each reader may want something else. */
export const keptCharsMax = 4 * 2 ** 20;
/** What a chunk takes besides its text. */
const chunkChars = 128;

/** The frames that follow an id, as far as one chunk goes. */
export type Chunk = { readonly text: string; readonly upTo: number };

/** The chunks that were written last. */
class Kept {
  readonly #chunks = new Map<string, Chunk>();
  #chars = 0;

  get chars(): number {
    return this.#chars;
  }

  get(key: string): Chunk | undefined {
    return this.#chunks.get(key);
  }

  /** The oldest give way. */
  put(key: string, chunk: Chunk): void {
    this.#chunks.set(key, chunk);
    this.#chars += chunkChars + chunk.text.length;
    for (const [oldest, { text }] of this.#chunks) {
      if (this.#chars <= keptCharsMax) return;
      this.#chunks.delete(oldest);
      this.#chars -= chunkChars + text.length;
    }
  }
}

/** Writes what a filter lets through, once for all that read at the same place. */
export class Feed {
  readonly #hub: Hub;
  readonly #filter: Filter;
  readonly #withErrors: boolean;
  readonly #kept: Kept;
  /** Tells its chunks from those of others. */
  readonly #number: number;
  /** How many streams read from it. */
  readers = 0;

  constructor(hub: Hub, filter: Filter, withErrors: boolean, kept: Kept, number: number) {
    this.#hub = hub;
    this.#filter = filter;
    this.#withErrors = withErrors;
    this.#kept = kept;
    this.#number = number;
  }

  /** What comes next after this id. */
  after(id: number): Chunk {
    const key = `${this.#number} ${id}`;
    const known = this.#kept.get(key);
    // What the ring does not hold any more is lost for all alike.
    if (known && id >= this.#hub.oldest - 1) return known;
    const { work } = this.#hub;
    const { gap, stretches, upTo } = this.#hub.read(this.#filter, id, chunkObservationsMax);
    const chunk = this.#write(gap, stretches, upTo, work);
    // How much a gap has lost grows: it is written for each reader anew.
    if (gap === null && chunk.upTo > id) this.#kept.put(key, chunk);
    return chunk;
  }

  #write(gap: Gap | null, stretches: readonly Stretch[], upTo: number, work: number): Chunk {
    let text = gap === null ? '' : gapFrame(gap);
    for (const stretch of stretches) {
      const { id, group, from, to, origins } = stretch;
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

/** Feeds by what they let through; one lives as long as it is read. */
export class Feeds {
  readonly #hub: Hub;
  readonly #feeds = new Map<string, Feed>();
  readonly #kept = new Kept();
  #numbers = 0;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  /** Characters of all chunks that are kept. */
  get keptChars(): number {
    return this.#kept.chars;
  }

  /** Returns the feed, and how to leave it. */
  join(filter: Filter, withErrors: boolean): { readonly feed: Feed; leave(): void } {
    const key = `${filterKey(filter)} ${withErrors}`;
    const feed = this.#feeds.get(key) ?? new Feed(this.#hub, filter, withErrors, this.#kept, ++this.#numbers);
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

/** Left out where the job is no longer kept. */
function originText(origins: GroupOrigins | null, place: number): string {
  const origin = origins?.at(place);
  if (!origin) return '';
  const run = origin.runs[0];
  const counts = origins!.countsAt(place);
  return (
    `,"root_id":"${origin.root}","run_id":${run === undefined ? 'null' : `"${run}"`}` +
    (counts === null ? '' : `,"counts":${JSON.stringify(counts)}`)
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
