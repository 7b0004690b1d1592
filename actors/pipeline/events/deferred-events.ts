// Events and hooks that start runs in a later turn, because the runs would take too much of the current turn. For
// example, a job emitted very many events, the payload is large, or the turn has no time left. While too many runs are
// open, or other events or hooks wait, all new events wait.
//
// The trees take turns. Within a tree, newer lists of events are handled before older ones. Until the first event of a
// list is handled, memory holds only the id of its job; for a hook, only its key.
import { unpinned } from '../../../runtime/bytes.ts';
import { type Body, bodyPart } from '../../../runtime/host/wire/outcome.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { pack, packedEmpty, unpack } from '../../../runtime/packing.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { contentsOf, endWithin, listCount } from '../../../runtime/splice.ts';
import { blaming } from '../../failed-record.ts';
import { keyText } from '../../job/records/open.ts';
import { type EvaluationLimits, Evaluations, UnfinishedEvaluation } from '../expressions/evaluations.ts';
import {
  type Cursor,
  cursorKey,
  type Origin,
  originKey,
  originKeyBytes,
  rootOf,
  startKey,
} from '../records/deferred-event.ts';
import type { RunTable } from '../run-table.ts';
import { Packed } from '../tokens/token.ts';
import { type Emitted, readEvent } from './events.ts';
import { hookPayload, isHook } from './hooks.ts';
import type { Trigger, Triggers } from './triggers.ts';

/**
 * The maximum number of events that one turn handles. An event for which several pipelines wait counts once for each of
 * them.
 */
export const eventsPerTurnMax = 512;
/**
 * When the waiting events in memory exceed this size, all of them are dropped from memory. They are read again when they are
 * handled.
 */
const heldBytesMax = 64 * 2 ** 20;

/** The origin of waiting events, and the packed list of these events; or the origin of a hook, and its packed payload. */
type Events = { readonly origin: Origin; readonly list: Uint8Array; readonly count: number };
/**
 * The next event of a list, or the hook. `event` null: a hook, or a value that is not an event. `end`: the offset after the
 * event or hook.
 */
type Next = { readonly event: Emitted | null; readonly payload: Packed; readonly end: number };
/**
 * A list of events, some of which may have been handled, or a hook. `events` null: the list must be read.
 * `evaluations`: the evaluations of the next event; null: none has begun.
 */
type Begun = Required<Cursor> & { readonly key: Uint8Array; events: Events | null; evaluations: Evaluations | null };

export class DeferredEvents {
  readonly #table: RunTable;
  readonly #triggers: Triggers;
  readonly #bodyOf: (job: JobId) => Body;
  /**
   * By root: the waiting lists and hooks of the tree. A list that has not begun is represented by the id of its job, as text. The first
   * tree is served next. A tree without waiting lists or hooks is removed.
   */
  readonly #lines = new Map<string, (string | Begun)[]>();
  /** The origins of events and hooks that this turn has deferred. Their records can be read from the next turn on. */
  #arriving: Origin[] = [];
  /** The lists whose events are in memory. */
  readonly #held = new Set<Begun>();
  #heldBytes = 0;
  #taken = 0;

  /** `bodyOf` reads the body of a job or run. */
  constructor(table: RunTable, triggers: Triggers, bodyOf: (job: JobId) => Body) {
    this.#table = table;
    this.#triggers = triggers;
    this.#bodyOf = bodyOf;
    const { reader, setAside } = table;
    for (const { key, value } of reader.scan('emissions', {})) {
      if (key.length > originKeyBytes) continue;
      const origin = setAside.read('emissions', key, () => unpack<Origin>(value));
      if (!origin || origin.place) continue;
      const cursorBytes = reader.get('emissions', cursorKey(key));
      const cursor = cursorBytes && setAside.read('emissions', cursorKey(key), () => unpack<Cursor>(cursorBytes));
      // If the cursor cannot be read, it is unknown which events have been handled. The list is then skipped, and stays
      // in the store.
      if (cursorBytes && !cursor) continue;
      if (cursor) this.#push(origin, { ...unbegun(Buffer.from(key)), ...cursor });
      else this.#pushNew(origin);
    }
  }

  /** Defers the events of a job, or the hooks of the end of a job or run, to later turns. */
  add(origin: Origin): void {
    this.#table.descendants.open(rootOf(origin));
    this.#table.batch.put('emissions', originKey(origin), pack(origin));
    this.#arriving.push(origin);
  }

  /** Whether new events must be deferred: too many runs are open (`isCrowded`), or other events or hooks wait. */
  get mustWait(): boolean {
    return this.#table.isCrowded || this.#lines.size > 0 || this.#arriving.length > 0;
  }

  /** Whether events or hooks of the tree with this root wait. */
  areBelow(root: JobId): boolean {
    const name = keyText(root);
    return this.#lines.has(name) || this.#arriving.some(origin => keyText(rootOf(origin)) === name);
  }

  #pushNew(origin: Origin): void {
    const { job, hook } = origin;
    this.#push(origin, hook ? unbegun(originKey(origin)) : keyText(job));
  }

  #push(origin: Origin, waiting: string | Begun): void {
    const root = keyText(rootOf(origin));
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
    for (const each of this.#held) Object.assign(each, { events: null, evaluations: null });
    this.#held.clear();
    this.#heldBytes = 0;
  }

  /** Whether another turn could handle waiting events or hooks. */
  get isWaiting(): boolean {
    return (this.#lines.size > 0 || this.#arriving.length > 0) && !this.#table.isCrowded;
  }

  /** Handles the next events, or the hook, of the tree that is served next. False: nothing waits, or no more can be handled in this turn. */
  step(): boolean {
    const next = this.#lines.entries().next().value;
    if (!next || this.#isFull || this.#table.isCrowded) return false;
    const [root, line] = next;
    const waiting = line.pop()!;
    const begun = typeof waiting === 'string' ? unbegun(startKey(Buffer.from(waiting, 'latin1'))) : waiting;
    if (this.#take(begun)) line.push(begun);
    // Moves the tree to the end, unless an evaluation of its next event has begun.
    if (begun.evaluations === null) this.#lines.delete(root);
    if (line.length > 0) this.#lines.set(root, line);
    return true;
  }

  /** Handles as many events of the list as fit into the turn, or the hook. False: the list or hook has been handled completely. */
  #take(begun: Begun): boolean {
    const { batch, descendants } = this.#table;
    const { origin, count } = blaming({ kind: 'emission', key: begun.key }, () => this.#eventsOf(begun));
    // Must precede the start of runs in the tree. If neither memory nor store has the counts of the tree, `held` assumes
    // that only this list is open.
    const tree = descendants.held(rootOf(origin));
    const came = this.#start(begun, count);
    const { index, at, fired, key } = begun;
    if (index < count) {
      // The cursor is written only if a run has been created. For events that start no run, the additional write would
      // cost more than it saves. After a crash, the events after the stored cursor are handled again, with the
      // configuration and the dedupe keys that then apply.
      if (came) batch.put('emissions', cursorKey(key), pack(fired.length > 0 ? { index, at, fired } : { index, at }));
      return true;
    }
    if (this.#held.delete(begun)) this.#heldBytes -= begun.events!.list.length;
    batch.remove('emissions', key);
    batch.remove('emissions', cursorKey(key));
    descendants.close(tree);
    return false;
  }

  /** Starts the pipelines that wait for the next events, as many as fit into the turn. False: no run has been created. */
  #start(begun: Begun, count: number): boolean {
    let came = false;
    try {
      while (begun.index < count && !this.#isFull) {
        const { trigger, end } = this.#next(begun);
        const waiting = trigger?.waiting ?? [];
        if (waiting.length === 0) this.#taken++;
        for (const version of waiting) {
          if (begun.fired.includes(version.name)) continue;
          if (this.#isFull) return came;
          if (this.#triggers.start(trigger!, version)) came = true;
          begun.fired.push(version.name);
          this.#taken++;
        }
        Object.assign(begun, { index: begun.index + 1, at: end, fired: [], evaluations: null });
      }
    } catch (error) {
      if (!(error instanceof UnfinishedEvaluation)) throw error;
      this.#taken++;
    }
    return came;
  }

  /**
   * The next event or the hook, with the pipelines of the current configuration that wait for it. `trigger` null: the value is not an
   * event. Throws UnfinishedEvaluation if the reading takes another turn.
   */
  #next(begun: Begun): { readonly trigger: Trigger | null; readonly end: number } {
    const { origin } = begun.events!;
    begun.evaluations ??= new Evaluations(this.#table.evaluationLimits);
    const { event, payload, end } = begun.evaluations.find('next', () => nextOf(begun, this.#table.evaluationLimits));
    if (isHook(origin)) return { trigger: this.#triggers.ofHook(origin, payload), end };
    return { trigger: event && this.#triggers.ofEvent(event, origin, payload), end };
  }

  #eventsOf(begun: Begun): Events {
    if (begun.events !== null) return begun.events;
    const origin = unpack<Origin>(this.#table.reader.get('emissions', begun.key)!);
    const body = this.#bodyOf(origin.job);
    const list = unpinned(isHook(origin) ? hookPayload(origin, body) : bodyPart(body, 'events')!);
    if (begun.index === 0) begun.at = isHook(origin) ? 0 : contentsOf(list);
    this.#held.add(begun);
    this.#heldBytes += list.length;
    begun.events = { origin, list, count: isHook(origin) ? 1 : listCount(list) };
    return begun.events;
  }

  get #isFull(): boolean {
    const { turn, isFull } = this.#table;
    return this.#taken >= eventsPerTurnMax || isFull || (this.#taken > 0 && turn.isSpent);
  }
}

function unbegun(key: Uint8Array): Begun {
  return { key, index: 0, at: 0, fired: [], events: null, evaluations: null };
}

/** Reads an event or a hook. The work can pause before a large event or hook, and again after a large event. */
function* nextOf({ events, at }: Begun, limits: EvaluationLimits): Sliced<Next> {
  const { origin, list } = events!;
  const isLarge = endWithin(list, at, at + limits.wholeBytesMax) < 0;
  if (isLarge) yield;
  if (isHook(origin)) return { event: null, payload: new Packed(list, limits), end: list.length };
  const { event, end } = readEvent(list, at);
  if (isLarge) yield;
  return { event, payload: new Packed(event?.payload ?? packedEmpty, limits), end };
}
