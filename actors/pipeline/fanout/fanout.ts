// A fan-out (of a `foreach`, or of the events of a job) that is being expanded. The list stays packed, and a cursor moves over it.
// A parked token is stored as a fan-out, too, with a count of one.
import type { Path } from '../../../config/pipeline/definition.ts';
import { copyBytes } from '../../../runtime/bytes.ts';
import { type JsonObject, pack, packedNull, unpack } from '../../../runtime/packing.ts';
import { contentsOf, endWithin, mapHead, type Span, skipValue, writeUint } from '../../../runtime/splice.ts';
import type { Evaluations } from '../expressions/evaluations.ts';
import { dataOfValues } from '../expressions/lookup.ts';
import { type Entries, Missing, renderEntries } from '../expressions/template.ts';
import type { StoredFan } from '../records/run.ts';
import { addBaggage } from '../tokens/baggage.ts';
import type { Packed, StepPosition } from '../tokens/token.ts';

/** The list of a fan-out, and the data that the jobs of all its elements have in common. A plan is stored in the table `lists`. */
export type FanPlan = Omit<StepPosition, 'first'> & {
  /** The packed list of the elements. */
  readonly list: Uint8Array;
  /** The list as a value in parts, if it is stored as one. */
  readonly parted?: Uint8Array;
  /**
   * `added`: if `each` is null, the entries that `with` adds to every payload; otherwise none. They are packed, without the head of the map.
   * `addedCount`: their number.
   */
  readonly added: Uint8Array;
  readonly addedCount: number;
  /** The keys `item` and `index`, except those that `added` contains. */
  readonly own: readonly ('item' | 'index')[];
  /** The templates and baggage that are rendered for each element. Null: `with` and the baggage are the same for all elements. */
  readonly each: { readonly with: Entries; readonly baggage: readonly (readonly [string, Path])[] } | null;
  /** A path in `with` that is known not to exist: the jobs cannot run. Null: no such path. */
  readonly missing: string | null;
};

/** A token that is parked at a node. `list` is its payload or, if `hasEvents` is set, the events of its cause. */
export type ParkedPlan = Omit<StepPosition, 'first'> & {
  readonly list: Uint8Array;
  /** The token's result. Null: the same as the payload. */
  readonly result: Uint8Array | null;
  /**
   * If set, the stored plan lacks `list` and `result`. Both are read from the token's cause. If the token has no cause,
   * `list` is read from the payload of the run, and `result` is a packed null.
   */
  readonly isBehindJob?: true;
  /**
   * With `isBehindJob`: the position of `list`, the payload of one event, in the events of the token's cause. Absent: `list` is the cause's
   * result or, with `hasEvents`, all its events.
   */
  readonly storedAs?: Span;
  /** `list` has the events of the token's cause: the token divides into one token per event. */
  readonly hasEvents?: true;
  /** The token begins a phase, and its payload is made when it continues (phase-token.ts). */
  readonly isPhase?: true;
};

export type FanOut = StoredFan & {
  /** The plan of the fan-out. Null: it must be read from the store. */
  plan: FanPlan | ParkedPlan | null;
  stored: boolean;
  /** Whether the fan-out is a parked token whose evaluation had no room in memory: other tokens continue first. */
  isCrowded?: boolean;
};

/**
 * A large element whose job is being made, in one or more turns. `own`: the element's payload without the entries that are rendered for
 * each element, and the offset after the element; null: the element has not been read.
 */
export type UnfinishedElement = {
  readonly evaluations: Evaluations;
  /** The number under which parts of the payload are written. Null: no part has been written. */
  readonly held: { id: number | null };
  own: { readonly payload: Packed; readonly end: number } | null;
  context: Packed | null;
};

export function beginFanOut(id: number, count: number, plan: FanPlan | ParkedPlan): FanOut {
  return { id, count, index: 0, at: contentsOf(plan.list), plan, stored: false };
}

/** Whether this is a parked token. The offset of an element is never 0, because the head of the list comes first. */
export function isParked({ at }: FanOut): boolean {
  return at === 0;
}

export function park(id: number, plan: ParkedPlan): FanOut {
  return { id, count: 1, index: 0, at: 0, plan, stored: false };
}

/** The position of the jobs of neighbouring elements. `first`: the index of the first of these elements. */
export function positionOf(plan: FanPlan, first: number, context: Uint8Array): StepPosition {
  const { scope, node, path, cause, depth, event, isReused = false } = plan;
  return { scope, node, path, first, cause, depth, event, context, isReused };
}

export function problemOf(missing: string | null): string | null {
  return missing && `${missing} is missing`;
}

/**
 * Whether the fan-out must wait for the commit of the turn that has added it. That turn may be writing the list of the fan-out, or the
 * records from which the payload of a phase is made.
 */
export function waitsForCommit(fan: FanOut | undefined): boolean {
  return fan?.plan != null && ('isBehindJob' in fan.plan || 'isPhase' in fan.plan) && !fan.stored;
}

export function encodePlan(plan: FanPlan | ParkedPlan): Uint8Array {
  if ('isBehindJob' in plan) return pack({ ...plan, list: packedNull, result: null });
  if (!('parted' in plan)) return pack(plan);
  const { parted, ...more } = plan;
  return pack({ ...more, list: parted });
}

export function decodePlan(bytes: Uint8Array): FanPlan | ParkedPlan {
  return unpack<FanPlan | ParkedPlan>(bytes);
}

export const itemKey = Buffer.from('\xa4item', 'latin1');
export const indexKey = Buffer.from('\xa5index', 'latin1');

/**
 * Returns the payloads of the next elements, limited in number and bytes, and moves the cursor. Stops before an element
 * of more than `elementBytesMax`. Elements are copied, never decoded.
 */
export function takePayloads(
  fan: FanOut,
  plan: FanPlan,
  countMax: number,
  bytesMax: number,
  elementBytesMax: number,
): Uint8Array[] {
  const { list, added } = plan;
  const hasItem = plan.own.includes('item');
  const hasIndex = plan.own.includes('index');
  const head = mapHead(plan.addedCount + plan.own.length);
  const fixed = head.length + added.length + (hasItem ? itemKey.length : 0) + (hasIndex ? indexKey.length + 5 : 0);
  const ends = new Uint32Array(countMax);
  let end = fan.at;
  let count = 0;
  // The first element is included even if there is no room.
  while (count < countMax && (count === 0 || end - fan.at + count * added.length < bytesMax)) {
    const next = endWithin(list, end, end + elementBytesMax);
    if (next < 0) break;
    end = next;
    ends[count++] = end;
  }
  const slab = Buffer.allocUnsafeSlow(count * fixed + (hasItem ? end - fan.at : 0));
  const payloads: Uint8Array[] = [];
  let at = 0;
  for (let k = 0; k < count; k++) {
    const from = at;
    at = copyBytes(slab, at, head);
    if (hasItem) {
      at = copyBytes(slab, at, itemKey);
      at = copyBytes(slab, at, list, fan.at, ends[k]!);
    }
    if (hasIndex) {
      at = copyBytes(slab, at, indexKey);
      at = writeUint(slab, at, fan.index + k);
    }
    at = copyBytes(slab, at, added);
    payloads.push(slab.subarray(from, at));
    fan.at = ends[k]!;
  }
  fan.index += count;
  return payloads;
}

/** The payload and context of one element. `missing`: a path in `with` that does not exist; null: all paths exist. */
export type FanOutElement = {
  readonly payload: Uint8Array;
  readonly context: Uint8Array;
  readonly missing: string | null;
};

/** Renders the templates for the next element, and moves the cursor. */
export function takeElement(fan: FanOut, plan: FanPlan): FanOutElement {
  const { list, each } = plan;
  const end = skipValue(list, fan.at);
  const element = { item: unpack(list.subarray(fan.at, end)), index: fan.index };
  fan.at = end;
  fan.index++;
  const { with: entries, baggage } = each!;
  const payload = dataOfValues({ payload: element });
  const own = baggage.length === 0 ? null : addBaggage(unpack<JsonObject>(plan.context), baggage, payload);
  const added = renderEntries(entries, own === null ? payload : dataOfValues({ payload: element, context: own }));
  const context = own === null ? plan.context : pack(own);
  if (added instanceof Missing) return { payload: pack(element), context, missing: added.missing };
  return { payload: pack({ ...element, ...added }), context, missing: plan.missing };
}
