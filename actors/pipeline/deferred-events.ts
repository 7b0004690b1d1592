// Events that are not taken in the turn in which their job settles. A job that emitted very many, or many and carries much
// baggage, has them taken some at a time, so that a flood never holds up a turn: twice, each at its own pace, once to start
// runs, while few enough are open, and once as the tokens of the job's run, which must not wait for other runs to end: those
// may all be waiting for theirs. And while too many runs are open, the events of any job wait to start more.
import { unpinned } from '../../runtime/bytes.ts';
import { type Body, bodyPart } from '../../runtime/host/wire/outcome.ts';
import type { JobId } from '../../runtime/ids.ts';
import { pack, packedNull, unpack } from '../../runtime/packing.ts';
import { contentsOf, listCount, skipValue } from '../../runtime/splice.ts';
import { blame } from '../failed-record.ts';
import { type Emitted, readEvent } from './events.ts';
import { unsettledMax } from './expansion.ts';
import { cursorKey, type Origin, originKey, originKeyBytes, rootOf, startKey } from './records/deferred-event.ts';
import { idText } from './run.ts';
import type { RunTable } from './run-table.ts';
import { StartQueue } from './start-queue.ts';

/** More events than this in one response are taken in several turns. */
export const eventsAtOnceMax = 256;
/** Events that are taken in one turn. */
export const eventsPerTurnMax = 512;
/** Bytes of waiting events kept in memory; beyond that they are read again when their turn comes. */
const heldBytesMax = 64 * 2 ** 20;

/** With what the job's record has: the packed list, and the result. */
export type EmissionPlan = Origin & { readonly events: Uint8Array; readonly result: Uint8Array };

/** How far the list has been taken. */
type Cursor = { index: number; at: number };
/** Without its plan it is read again. */
type Emission = Cursor & { readonly key: Uint8Array; plan: EmissionPlan | null };

/** What is done with an event, and when there are none left. */
export type EmissionSteps = {
  /** False: nothing came of it. */
  take(plan: EmissionPlan, event: Emitted, index: number): boolean;
  end(plan: EmissionPlan): void;
};

/** The line of those that start runs. Those that go on have one for each run, named by its id's text. */
const startsLine = '';

export class DeferredEvents {
  readonly #table: RunTable;
  readonly #steps: EmissionSteps;
  readonly #bodyOf: (job: JobId) => Body;
  readonly #starts = new StartQueue<Emission>();
  /** By run: emissions whose events go on as its tokens. They take turns in each. */
  readonly #chains = new Map<string, Emission[]>();
  /** The lines take turns. None is empty. */
  readonly #lines = new Set<string>();
  /** Jobs of this turn whose events wait: their records can be read from the next turn on. */
  #arriving: Origin[] = [];
  #heldBytes = 0;
  #taken = 0;

  /** `bodyOf` reads what a job has left behind. */
  constructor(table: RunTable, steps: EmissionSteps, bodyOf: (job: JobId) => Body) {
    this.#table = table;
    this.#steps = steps;
    this.#bodyOf = bodyOf;
    // Each is followed by its cursor, where it has been begun.
    const { reader, setAside } = table;
    let last: Origin | null = null;
    for (const { key, value } of reader.scan('emissions', {})) {
      if (key.length > originKeyBytes) {
        if (last === null) continue;
        const cursor = setAside.read('emissions', key, () => unpack<Cursor>(value));
        if (cursor) Object.assign(this.#begin(last), cursor);
        last = null;
        continue;
      }
      this.#reopen(last);
      last = setAside.read('emissions', key, () => unpack<Origin>(value)) ?? null;
    }
    this.#reopen(last);
  }

  /** It has not been begun. */
  #reopen(origin: Origin | null): void {
    if (origin === null) return;
    if (origin.place === null) this.#wait(origin);
    else this.#begin(origin);
  }

  /** A flood. The body has the events. It is the job's, in the same commit: they are not written again. */
  add(origin: Origin, body: Body): void {
    this.#note(origin);
    this.#hold(this.#begin(origin), origin, body);
  }

  /** The events of this job wait until there is room for the runs that they start. */
  addLater(origin: Origin): void {
    this.#note(origin);
    this.#arriving.push(origin);
  }

  #note(origin: Origin): void {
    if (origin.place === null) this.#table.descendants.open(rootOf(origin));
    this.#table.batch.put('emissions', originKey(origin), pack(origin));
  }

  /** Whether events that would start runs have to wait: too many are open, or others wait already. */
  get mustWait(): boolean {
    return this.#table.isCrowded || this.#starts.length > 0 || this.#arriving.length > 0;
  }

  #begin(origin: Origin): Emission {
    const emission: Emission = { key: originKey(origin), index: 0, at: 0, plan: null };
    if (origin.place === null) {
      this.#starts.push(idText(rootOf(origin)), emission);
      this.#lines.add(startsLine);
      return emission;
    }
    const line = idText(origin.place.run);
    const waiting = this.#chains.get(line);
    if (waiting) waiting.push(emission);
    else this.#chains.set(line, [emission]);
    this.#lines.add(line);
    return emission;
  }

  #wait(origin: Origin): void {
    this.#starts.pushJob(idText(rootOf(origin)), origin.job);
    this.#lines.add(startsLine);
  }

  #hold(emission: Emission, origin: Origin, body: Body): EmissionPlan {
    const events = unpinned(bodyPart(body, 'events')!);
    const result = unpinned(bodyPart(body, 'result') ?? packedNull);
    if (emission.index === 0) emission.at = contentsOf(events);
    emission.plan = { ...origin, events, result };
    this.#heldBytes += heldBytes(emission.plan);
    return emission.plan;
  }

  #tryPlanOf(emission: Emission): EmissionPlan {
    try {
      return this.#planOf(emission);
    } catch (error) {
      throw blame({ kind: 'emission', key: emission.key }, error);
    }
  }

  #planOf(emission: Emission): EmissionPlan {
    if (emission.plan !== null) return emission.plan;
    const origin = unpack<Origin>(this.#table.reader.get('emissions', emission.key)!);
    return this.#hold(emission, origin, this.#bodyOf(origin.job));
  }

  /** A new turn: there is room again, and what came before it can be read. */
  renew(): void {
    this.#taken = 0;
    for (const origin of this.#arriving) this.#wait(origin);
    this.#arriving = [];
    if (this.#heldBytes <= heldBytesMax) return;
    for (const line of this.#chains.values()) for (const emission of line) emission.plan = null;
    for (const emission of this.#starts.begun()) emission.plan = null;
    this.#heldBytes = 0;
  }

  /** Whether another turn must follow to go on. */
  get isWaiting(): boolean {
    return this.#next() !== undefined || (this.#arriving.length > 0 && !this.#table.isCrowded);
  }

  /** Takes the next events; false when there is nothing more to do in this turn. */
  step(): boolean {
    if (this.#isFull) return false;
    const line = this.#next();
    if (line === undefined) return false;
    // To the end of the line: the others come first.
    this.#lines.delete(line);
    if (line === startsLine ? this.#stepStarts() : this.#stepChains(line)) this.#lines.add(line);
    return true;
  }

  /** True while others of the line wait. */
  #stepStarts(): boolean {
    const { root, begun, job } = this.#starts.shift();
    const emission = begun ?? { key: startKey(job!), index: 0, at: 0, plan: null };
    if (this.#take(emission)) this.#starts.push(root, emission);
    return this.#starts.length > 0;
  }

  #stepChains(line: string): boolean {
    const waiting = this.#chains.get(line)!;
    const emission = waiting.shift()!;
    if (this.#take(emission)) waiting.push(emission);
    if (waiting.length === 0) this.#chains.delete(line);
    return waiting.length > 0;
  }

  /** Takes as many as the turn has room for; false when none are left. */
  #take(emission: Emission): boolean {
    const plan = this.#tryPlanOf(emission);
    const { batch, descendants } = this.#table;
    // It is one of those that are open in the tree: before another is.
    const tree = plan.place === null ? descendants.held(rootOf(plan)) : null;
    const count = listCount(plan.events);
    let came = false;
    for (; emission.index < count && !this.#isFull; emission.index++, this.#taken++) {
      const event = readEvent(plan.events, emission.at);
      emission.at = skipValue(plan.events, emission.at);
      if (event && this.#steps.take(plan, event, emission.index)) came = true;
    }
    const { index, at } = emission;
    if (index < count) {
      // Events of which nothing came cost no commit. After a crash they are taken again, by what is configured and remembered then.
      if (came) batch.put('emissions', cursorKey(emission.key), pack({ index, at }));
      return true;
    }
    this.#heldBytes -= heldBytes(plan);
    batch.remove('emissions', emission.key);
    batch.remove('emissions', cursorKey(emission.key));
    if (tree) descendants.close(tree);
    this.#steps.end(plan);
    return false;
  }

  get #isFull(): boolean {
    const { turn, isFull } = this.#table;
    return this.#taken >= eventsPerTurnMax || isFull || (this.#taken > 0 && turn.isSpent);
  }

  /** The first line that has room. */
  #next(): string | undefined {
    for (const line of this.#lines) if (this.#hasRoom(line)) return line;
    return undefined;
  }

  /** What a run's tokens wait for is its own jobs, and the runs that it called: these end whatever else is open. */
  #hasRoom(line: string): boolean {
    if (line === startsLine) return !this.#table.isCrowded;
    const run = this.#table.runs.find(line);
    return run === undefined || run.jobs <= unsettledMax - eventsPerTurnMax;
  }
}

function heldBytes({ events, result, context }: EmissionPlan): number {
  return events.length + result.length + context.length;
}
