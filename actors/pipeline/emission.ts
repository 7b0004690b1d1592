// A job that emitted very many events, or many and carries much baggage: they are taken some at a time, so that a flood never holds up a turn.
// Twice, each at its own pace: once to start runs, while few enough are open; and once as the chains of the job's run,
// which must not wait for other runs to end: those may all be waiting for theirs.
import { type Body, bodyPart } from '../../runtime/host/outcome.ts';
import { type JobId, jobIdBytes } from '../../runtime/ids.ts';
import { pack, packedNull, unpack } from '../../runtime/packing.ts';
import { contentsOf, listCount, skipValue } from '../../runtime/splice.ts';
import type { Desk } from './desk.ts';
import { type Emitted, readEvent } from './events.ts';
import { unsettledMax } from './expansion.ts';
import { idText } from './run.ts';

/** More events than this in one response are taken in several turns. */
export const eventsAtOnceMax = 256;
/** Events that are taken in one turn. */
export const eventsPerTurnMax = 512;
/** Of what waits so much is kept in memory; over it, all is read again when its turn comes. */
const heldBytesMax = 64 * 2 ** 20;

/** Where events came from, and what they are taken for: chains of a run, at this place, or (null) the start of runs. Stored as it is. */
type Origin = {
  readonly job: JobId;
  readonly plugin: string;
  readonly submittedBy: string;
  readonly root: JobId | null;
  readonly depth: number;
  readonly context: Uint8Array;
  readonly hooked: boolean;
  readonly place: {
    readonly run: JobId;
    readonly scope: number;
    readonly node: number;
    readonly path: readonly number[];
  } | null;
};

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
const starts = '';

export class Emissions {
  readonly #desk: Desk;
  readonly #steps: EmissionSteps;
  readonly #bodyOf: (job: JobId) => Body;
  /** The lines take turns, and so do the emissions in each. None is empty. */
  readonly #lines = new Map<string, Emission[]>();
  #heldBytes = 0;
  #taken = 0;

  /** `bodyOf` reads what a job has left behind. */
  constructor(desk: Desk, steps: EmissionSteps, bodyOf: (job: JobId) => Body) {
    this.#desk = desk;
    this.#steps = steps;
    this.#bodyOf = bodyOf;
    let last: Emission | undefined;
    for (const { key, value } of desk.reader.scan('emissions', {})) {
      if (key.length === originKeyBytes) last = this.#begin(unpack<Origin>(value));
      else Object.assign(last!, unpack<Cursor>(value));
    }
  }

  /** The body has events. It is the job's, in the same commit: they are not written again. */
  add(origin: Origin, body: Body): void {
    this.#desk.batch.put('emissions', originKey(origin), pack(origin));
    this.#hold(this.#begin(origin), origin, body);
  }

  #begin(origin: Origin): Emission {
    const emission: Emission = { key: originKey(origin), index: 0, at: 0, plan: null };
    const line = origin.place === null ? starts : idText(origin.place.run);
    const waiting = this.#lines.get(line);
    if (waiting) waiting.push(emission);
    else this.#lines.set(line, [emission]);
    return emission;
  }

  #hold(emission: Emission, origin: Origin, body: Body): EmissionPlan {
    const events = bodyPart(body, 'events')!;
    const result = bodyPart(body, 'result') ?? packedNull;
    if (emission.index === 0) emission.at = contentsOf(events);
    emission.plan = { ...origin, events, result };
    this.#heldBytes += heldBytes(emission.plan);
    return emission.plan;
  }

  #planOf(emission: Emission): EmissionPlan {
    if (emission.plan !== null) return emission.plan;
    const origin = unpack<Origin>(this.#desk.reader.get('emissions', emission.key)!);
    return this.#hold(emission, origin, this.#bodyOf(origin.job));
  }

  /** A new turn: there is room again, and what came before it can be read. */
  renew(): void {
    this.#taken = 0;
    if (this.#heldBytes <= heldBytesMax) return;
    for (const line of this.#lines.values()) for (const emission of line) emission.plan = null;
    this.#heldBytes = 0;
  }

  /** Whether another turn must follow to go on. */
  get isWaiting(): boolean {
    return this.#next() !== undefined;
  }

  /** Takes the next events; false when there is nothing more to do in this turn. */
  step(): boolean {
    if (this.#isFull) return false;
    const line = this.#next();
    if (line === undefined) return false;
    const waiting = this.#lines.get(line)!;
    const emission = waiting.shift()!;
    // To the end of the line: the others come first.
    if (this.#take(emission)) waiting.push(emission);
    this.#lines.delete(line);
    if (waiting.length > 0) this.#lines.set(line, waiting);
    return true;
  }

  /** Takes as many as the turn has room for; false when none are left. */
  #take(emission: Emission): boolean {
    const plan = this.#planOf(emission);
    const { batch } = this.#desk;
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
    this.#steps.end(plan);
    return false;
  }

  get #isFull(): boolean {
    return this.#taken >= eventsPerTurnMax || this.#desk.isFull;
  }

  /** The first line that has room. */
  #next(): string | undefined {
    for (const line of this.#lines.keys()) if (this.#hasRoom(line)) return line;
    return undefined;
  }

  /** What a run's chains wait for is its own jobs, and the runs that it called: these end whatever else is open. */
  #hasRoom(line: string): boolean {
    const { runs, openRunsMax } = this.#desk;
    if (line === starts) return runs.size < openRunsMax;
    const run = runs.get(line);
    return run === undefined || run.jobs <= unsettledMax - eventsPerTurnMax;
  }
}

const originKeyBytes = jobIdBytes + 1;

/** job id (16); 0: to start runs, 1: as chains of a run. */
function originKey({ job, place }: Origin): Uint8Array {
  return Buffer.concat([job, Buffer.of(place === null ? 0 : 1)]);
}

/** The same, and 0. */
function cursorKey(origin: Uint8Array): Uint8Array {
  return Buffer.concat([origin, Buffer.of(0)]);
}

function heldBytes({ events, result, context }: EmissionPlan): number {
  return events.length + result.length + context.length;
}
