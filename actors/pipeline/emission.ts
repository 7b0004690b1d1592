// A job that emitted very many events: they are taken some at a time, so that a flood never holds up a turn.
import { type Body, bodyPart } from '../../runtime/host/outcome.ts';
import { type JobId, jobIdBytes } from '../../runtime/ids.ts';
import { pack, packedNull, unpack } from '../../runtime/packing.ts';
import { contentsOf, listCount, skipValue } from '../../runtime/splice.ts';
import type { Desk } from './desk.ts';
import { type Emitted, readEvent } from './events.ts';

/** More events than this in one response are taken in several turns. */
export const eventsAtOnceMax = 256;
/** Events that are taken in one turn. */
export const eventsPerTurnMax = 512;
/** No more are taken while so many runs are open. */
export const openRunsMax = 16_384;

/** Where events came from, and the chain that goes on with them when their job belongs to a run. Stored as it is. */
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
type Emission = Cursor & { readonly plan: EmissionPlan };

/** What is done with an event, and when there are none left. */
export type EmissionSteps = {
  /** False: nothing came of it. */
  take(plan: EmissionPlan, event: Emitted, index: number): boolean;
  end(plan: EmissionPlan): void;
};

export class Emissions {
  readonly #desk: Desk;
  readonly #steps: EmissionSteps;
  readonly #pending: Emission[] = [];
  #taken = 0;

  /** `bodyOf` reads what a job has left behind. */
  constructor(desk: Desk, steps: EmissionSteps, bodyOf: (job: JobId) => Body) {
    this.#desk = desk;
    this.#steps = steps;
    for (const { key, value } of desk.reader.scan('emissions', {})) {
      if (key.length === jobIdBytes) this.#begin(unpack<Origin>(value), bodyOf(key));
      else Object.assign(this.#pending.at(-1)!, unpack<Cursor>(value));
    }
  }

  /** The body has events. It is the job's, in the same commit: they are not written again. */
  add(origin: Origin, body: Body): void {
    this.#desk.batch.put('emissions', origin.job, pack(origin));
    this.#begin(origin, body);
  }

  #begin(origin: Origin, body: Body): void {
    const events = bodyPart(body, 'events')!;
    const result = bodyPart(body, 'result') ?? packedNull;
    this.#pending.push({ plan: { ...origin, events, result }, index: 0, at: contentsOf(events) });
  }

  /** A new turn: there is room again. */
  renew(): void {
    this.#taken = 0;
  }

  /** Whether another turn must follow to go on. */
  get isWaiting(): boolean {
    return this.#pending.length > 0 && this.#hasRoom;
  }

  /** Takes the next events; false when there is nothing more to do in this turn. */
  step(): boolean {
    const emission = this.#pending[0];
    if (!emission || !this.#hasRoom || this.#taken >= eventsPerTurnMax) return false;
    const { plan } = emission;
    const count = listCount(plan.events);
    let came = false;
    for (; emission.index < count && this.#taken < eventsPerTurnMax; emission.index++, this.#taken++) {
      const event = readEvent(plan.events, emission.at);
      emission.at = skipValue(plan.events, emission.at);
      if (event && this.#steps.take(plan, event, emission.index)) came = true;
    }
    this.#pending.shift();
    if (emission.index < count) {
      // To the end of the line: the others come first.
      this.#pending.push(emission);
      // Events of which nothing came cost no commit. After a crash they are taken again, by what is configured and remembered then.
      if (came) this.#keep(emission);
    } else {
      this.#desk.batch.remove('emissions', plan.job);
      this.#desk.batch.remove('emissions', cursorKey(plan.job));
      this.#steps.end(plan);
    }
    return true;
  }

  get #hasRoom(): boolean {
    return this.#desk.runs.size < openRunsMax;
  }

  #keep({ plan, index, at }: Emission): void {
    this.#desk.batch.put('emissions', cursorKey(plan.job), pack({ index, at }));
  }
}

/** job id (16), 1. */
function cursorKey(job: JobId): Uint8Array {
  return Buffer.concat([job, Buffer.of(1)]);
}
