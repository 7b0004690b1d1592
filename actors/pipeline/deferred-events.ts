// Events that wait to start runs in a later turn. These are the events of a job that emitted very many, which would delay a turn, and the
// events of any job while too many runs are open. Hooks of jobs wait in the same way.
//
// The trees are served in rotation. Within a tree the newest events go first: the consequences of one event end before the next event
// begins, and few wait at a time. Until a job's events have begun, only its id is in memory.
import { unpinned } from '../../runtime/bytes.ts';
import { type Body, bodyPart } from '../../runtime/host/wire/outcome.ts';
import type { JobId } from '../../runtime/ids.ts';
import { pack, unpack } from '../../runtime/packing.ts';
import { contentsOf, listCount, skipValue } from '../../runtime/splice.ts';
import { blaming } from '../failed-record.ts';
import { type Emitted, readEvent } from './events.ts';
import {
  type Cursor,
  cursorKey,
  type Origin,
  originKey,
  originKeyBytes,
  rootOf,
  startKey,
} from './records/deferred-event.ts';
import { idText } from './run.ts';
import type { RunTable } from './run-table.ts';

/** The maximum number of events that one turn takes. */
export const eventsPerTurnMax = 512;
/** When the waiting events in memory have more than this size, they are dropped from memory, and read again when they are taken. */
const heldBytesMax = 64 * 2 ** 20;

/** A packed list with a null, which stands in for the list of events if a hook waits. */
const anEnd = Uint8Array.of(0x91, 0xc0);

/** The origin of events, and the packed list of them. */
type Events = { readonly origin: Origin; readonly list: Uint8Array };
/** A list of events, some of which may have been taken. `events` null: the list must be read again. */
type Begun = Cursor & { readonly key: Uint8Array; events: Events | null };

export class DeferredEvents {
  readonly #table: RunTable;
  readonly #fire: (event: Emitted | null, origin: Origin) => boolean;
  readonly #bodyOf: (job: JobId) => Body;
  /**
   * By root: what waits in the tree, as ids of jobs (text) and as lists that have begun. No entry is empty, and the first one is served
   * next.
   */
  readonly #lines = new Map<string, (string | Begun)[]>();
  /** Jobs whose events this turn has deferred. Their records can be read from the next turn on. */
  #arriving: Origin[] = [];
  /** The lists whose events are in memory. */
  readonly #held = new Set<Begun>();
  #heldBytes = 0;
  #taken = 0;

  /** `fire` lets an event, or null for a waiting hook, start runs; false: it started none. `bodyOf` reads the body of a job. */
  constructor(table: RunTable, fire: (event: Emitted | null, origin: Origin) => boolean, bodyOf: (job: JobId) => Body) {
    this.#table = table;
    this.#fire = fire;
    this.#bodyOf = bodyOf;
    const { reader, setAside } = table;
    for (const { key, value } of reader.scan('emissions', {})) {
      if (key.length > originKeyBytes) continue;
      const origin = setAside.read('emissions', key, () => unpack<Origin>(value));
      if (!origin || origin.place) continue;
      const cursorBytes = reader.get('emissions', cursorKey(key));
      const cursor = cursorBytes && setAside.read('emissions', cursorKey(key), () => unpack<Cursor>(cursorBytes));
      if (cursor) this.#push(origin, { ...cursor, key: Buffer.from(key), events: null });
      else this.#pushNew(origin);
    }
  }

  /** Defers the events of this job, or the hooks of its end, to later turns. */
  add(origin: Origin): void {
    this.#table.descendants.open(rootOf(origin));
    this.#table.batch.put('emissions', originKey(origin), pack(origin));
    this.#arriving.push(origin);
  }

  /** Whether new events must be deferred: too many runs are open, or other events are waiting. */
  get mustWait(): boolean {
    return this.#table.isCrowded || this.#lines.size > 0 || this.#arriving.length > 0;
  }

  /** Whether events of the tree with this root wait. */
  areBelow(root: JobId): boolean {
    const name = idText(root);
    return this.#lines.has(name) || this.#arriving.some(origin => idText(rootOf(origin)) === name);
  }

  #pushNew(origin: Origin): void {
    const { job, hook } = origin;
    this.#push(origin, hook ? { key: originKey(origin), index: 0, at: 0, events: null } : idText(job));
  }

  #push(origin: Origin, waiting: string | Begun): void {
    const root = idText(rootOf(origin));
    const line = this.#lines.get(root);
    if (line) line.push(waiting);
    else this.#lines.set(root, [waiting]);
  }

  /** Begins a turn: the limits are reset, and the records that the previous turn wrote can be read. */
  renew(): void {
    this.#taken = 0;
    for (const origin of this.#arriving) this.#pushNew(origin);
    this.#arriving = [];
    if (this.#heldBytes <= heldBytesMax) return;
    for (const begun of this.#held) begun.events = null;
    this.#held.clear();
    this.#heldBytes = 0;
  }

  /** Whether another turn is needed. */
  get isWaiting(): boolean {
    return (this.#lines.size > 0 || this.#arriving.length > 0) && !this.#table.isCrowded;
  }

  /** Takes the next events. False: nothing more can be done in this turn. */
  step(): boolean {
    const next = this.#lines.entries().next().value;
    if (!next || this.#isFull || this.#table.isCrowded) return false;
    const [root, line] = next;
    const waiting = line.pop()!;
    const begun =
      typeof waiting === 'string'
        ? { key: startKey(Buffer.from(waiting, 'latin1')), index: 0, at: 0, events: null }
        : waiting;
    if (this.#take(begun)) line.push(begun);
    // All other trees are served before this one is served again.
    this.#lines.delete(root);
    if (line.length > 0) this.#lines.set(root, line);
    return true;
  }

  /** Takes as many events as fit into the turn. False: none are left. */
  #take(begun: Begun): boolean {
    const { batch, descendants } = this.#table;
    const { origin, list } = blaming({ kind: 'emission', key: begun.key }, () => this.#eventsOf(begun));
    // The tree counts a waiting list as open. It must be looked up before `fire` opens runs in it.
    const tree = descendants.held(rootOf(origin));
    const count = listCount(list);
    let came = false;
    for (; begun.index < count && !this.#isFull; begun.index++, this.#taken++) {
      const event = readEvent(list, begun.at);
      begun.at = skipValue(list, begun.at);
      if (this.#fire(event, origin)) came = true;
    }
    const { index, at, key } = begun;
    if (index < count) {
      // Saving the position of events that started nothing is not worth a commit. After a crash they are taken again, with the
      // configuration and dedupe keys of that time.
      if (came) batch.put('emissions', cursorKey(key), pack({ index, at }));
      return true;
    }
    if (this.#held.delete(begun)) this.#heldBytes -= list.length;
    batch.remove('emissions', key);
    batch.remove('emissions', cursorKey(key));
    descendants.close(tree);
    return false;
  }

  #eventsOf(begun: Begun): Events {
    if (begun.events !== null) return begun.events;
    const origin = unpack<Origin>(this.#table.reader.get('emissions', begun.key)!);
    const list = origin.hook ? anEnd : unpinned(bodyPart(this.#bodyOf(origin.job), 'events')!);
    if (begun.index === 0) begun.at = contentsOf(list);
    this.#held.add(begun);
    this.#heldBytes += list.length;
    begun.events = { origin, list };
    return begun.events;
  }

  get #isFull(): boolean {
    const { turn, isFull } = this.#table;
    return this.#taken >= eventsPerTurnMax || isFull || (this.#taken > 0 && turn.isSpent);
  }
}
