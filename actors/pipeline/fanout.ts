// A fan-out being expanded, of a `foreach` or of the events of a job: the list stays packed, and a cursor walks over it, some elements
// at a time.
import type { Path } from '../../config/pipeline/definition.ts';
import { copyBytes } from '../../runtime/bytes.ts';
import { type JsonObject, pack, packedNull, unpack } from '../../runtime/packing.ts';
import { contentsOf, mapHead, skipValue, writeUint } from '../../runtime/splice.ts';
import { addBaggage } from './baggage.ts';
import { dataOfValues } from './lookup.ts';
import type { StoredFan } from './records/run.ts';
import { type Entries, isMissing, renderEntries } from './template.ts';
import type { StepPosition } from './token.ts';

/** What stays the same while the elements are taken; it lies in the table `lists`. */
export type FanPlan = Omit<StepPosition, 'first'> & {
  /** The packed list. */
  readonly list: Uint8Array;
  /** Set: so it is written, in parts. */
  readonly parted?: Uint8Array;
  /** What `with` adds to every payload: entries of a packed map, and how many they are. */
  readonly added: Uint8Array;
  readonly addedCount: number;
  /** Of `{item, index}`, those that `with` does not name itself. */
  readonly own: readonly ('item' | 'index')[];
  /** Not null: `with`, or the baggage, differs from element to element. */
  readonly each: { readonly with: Entries; readonly baggage: readonly (readonly [string, Path])[] } | null;
  /** Set: the jobs cannot run, because `with` did not find this path. */
  readonly missing: string | null;
};

/** A token that waits before a node for a later turn; the list is its payload. */
export type ParkedPlan = Omit<StepPosition, 'first'> & {
  readonly list: Uint8Array;
  /** Null: as its payload. */
  readonly result: Uint8Array | null;
  /** List and result are what its cause has left behind, or the payload of the run: written once, and read again there. */
  readonly isBehindJob?: true;
  /** The list is that of the events of its cause. The token divides, one token per event. */
  readonly hasEvents?: true;
};

export type FanOut = StoredFan & {
  /** In memory while there is room. */
  plan: FanPlan | ParkedPlan | null;
  stored: boolean;
  /** A token whose look has no room in memory: others go first. */
  isCrowded?: boolean;
};

export function beginFanOut(id: number, count: number, plan: FanPlan | ParkedPlan): FanOut {
  return { id, count, index: 0, at: contentsOf(plan.list), plan, stored: false };
}

/** Whether it is a token that waits. */
export function isParked({ at }: FanOut): boolean {
  return at === 0;
}

export function park(id: number, plan: ParkedPlan): FanOut {
  return { id, count: 1, index: 0, at: 0, plan, stored: false };
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

const itemKey = Buffer.from('\xa4item', 'latin1');
const indexKey = Buffer.from('\xa5index', 'latin1');

/** The payloads of the next elements, of some bytes and so many at most; moves the cursor. Elements are copied, never decoded. */
export function takePayloads(fan: FanOut, plan: FanPlan, countMax: number, bytesMax: number): Uint8Array[] {
  const { list, added } = plan;
  const hasItem = plan.own.includes('item');
  const hasIndex = plan.own.includes('index');
  const head = mapHead(plan.addedCount + plan.own.length);
  const fixed = head.length + added.length + (hasItem ? itemKey.length : 0) + (hasIndex ? indexKey.length + 5 : 0);
  const ends = new Uint32Array(countMax);
  let end = fan.at;
  let count = 0;
  // The first is taken however long it is.
  while (count < countMax && (count === 0 || end - fan.at + count * added.length < bytesMax)) {
    end = skipValue(list, end);
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

/** One element whose job is unlike the others. */
export type FanOutElement = {
  readonly payload: Uint8Array;
  readonly context: Uint8Array;
  readonly missing: string | null;
};

/** The job of the next element, where templates look at it; moves the cursor. */
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
  if (isMissing(added)) return { payload: pack(element), context, missing: added.missing };
  return { payload: pack({ ...element, ...added }), context, missing: plan.missing };
}
