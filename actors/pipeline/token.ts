// A token on its way through a run: the event or result it carries, its baggage, and where it has come from.

import type { Path } from '../../config/pipeline/definition.ts';
import type { EventEnvelope } from '../../runtime/host/wire/plugin-host.ts';
import type { JobId } from '../../runtime/ids.ts';
import { entriesWithout, jsonInSteps, someElement, spanInSteps } from '../../runtime/packed-steps.ts';
import { type Json, type JsonObject, packedEmpty, unpack } from '../../runtime/packing.ts';
import {
  asSections,
  encodeParted,
  isParted,
  type Section,
  sectionsOf,
  sectionsWithin,
  wholeInSteps,
} from '../../runtime/parted.ts';
import { contentsOf, isNil, listCount, mapCount, mapHead, type Span, spanAt, textFrom } from '../../runtime/splice.ts';
import { besideAt } from './join-payload.ts';
import { Looks, plainSight, type Sight } from './looks.ts';
import { type Data, dataOfValues, follow, LargeValue, textOf } from './lookup.ts';

/** `cause` null: the run itself. `result`: what the last job gave, packed, perhaps in parts; null before any. */
export type Token = {
  readonly path: readonly number[];
  readonly payload: Packed;
  readonly context: Packed;
  readonly event: EventEnvelope;
  /** How many jobs it has crossed. */
  readonly depth: number;
  readonly cause: JobId | null;
  readonly result: Uint8Array;
  /** The payload is that of the run, or the result of its cause: both are in the store. */
  readonly isStored: boolean;
};

/** Where new jobs belong in their run. */
export type StepPosition = {
  readonly scope: number;
  readonly node: number;
  readonly path: readonly number[];
  readonly first: number | null;
  readonly cause: JobId | null;
  readonly depth: number;
  readonly event: EventEnvelope;
  readonly context: Uint8Array;
};

// Both are written out: an object that is copied by spread has a shape of its own, and whatever reads it gets slow.

/** The token at another place. */
export function movedTo(
  { payload, context, event, depth, cause, result, isStored }: Token,
  path: readonly number[],
): Token {
  return { path, payload, context, event, depth, cause, result, isStored };
}

/** The token with other baggage. */
export function carrying({ path, payload, event, depth, cause, result, isStored }: Token, context: Packed): Token {
  return { path, payload, context, event, depth, cause, result, isStored };
}

/** Packed bytes that are looked at when somebody asks, and put together when they are in parts. */
export class Packed {
  /** As they are written: perhaps in parts. */
  readonly stored: Uint8Array;
  /** What is found out about it step by step. */
  readonly looks: Looks;
  readonly #sight: Sight;
  #value: Json | undefined;

  constructor(stored: Uint8Array, sight: Sight = plainSight) {
    this.stored = stored;
    this.#sight = sight;
    this.looks = new Looks(sight);
  }

  get bytes(): Uint8Array {
    return isParted(this.stored)
      ? this.looks.find('whole', () => wholeInSteps(this.#sight.parts, this.stored))
      : this.stored;
  }

  get value(): Json {
    if (this.#value === undefined) this.#value = unpack<Json>(this.bytes);
    return this.#value;
  }

  get map(): JsonObject {
    return this.value as JsonObject;
  }

  /** It is not decoded whole. */
  get isLarge(): boolean {
    return isParted(this.stored) || this.stored.length > this.#sight.wholeBytesMax;
  }

  /** What lies under the keys; undefined when something on the way is missing. */
  find(keys: readonly string[]): Json | undefined {
    if (!this.isLarge) return follow(this.value, keys);
    const bytes = this.bytesAt(keys);
    return bytes === null ? undefined : unpack<Json>(bytes);
  }

  /** The same for a condition: a list or map that is large stays packed. */
  view(keys: readonly string[]): Json | LargeValue | undefined {
    const bytes = this.#largeAt(keys);
    if (bytes === null) return this.find(keys);
    const [steps, name] = [this.#sight.stepBytes, JSON.stringify(keys)];
    return new LargeValue(bytes, (what, test) =>
      this.looks.find(`${name} ${what}`, () => someElement(bytes, test, steps)),
    );
  }

  /** The same, packed. */
  bytesAt(keys: readonly string[]): Uint8Array | null {
    const beside = keys.length === 1 && isParted(this.stored) ? besideAt(this.stored, keys[0]!) : null;
    if (beside !== null) return beside;
    const span = this.spanAt(keys);
    return span && this.bytes.subarray(span.from, span.to);
  }

  spanAt(keys: readonly string[]): Span | null {
    const { bytes } = this;
    if (!this.isLarge) return spanAt(bytes, keys);
    return this.looks.find(JSON.stringify(keys), () => spanInSteps(bytes, keys, this.#sight.stepBytes));
  }

  /** The same as text. */
  textAt(keys: readonly string[]): string | undefined {
    const pieces = this.isLarge ? this.textPiecesAt(keys) : null;
    return pieces ? Buffer.concat(pieces).toString() : textOf(this.find(keys));
  }

  /** The same in pieces. */
  textPiecesAt(keys: readonly string[]): readonly Uint8Array[] | null {
    const large = this.#largeAt(keys);
    if (large !== null)
      return this.looks.find(`${JSON.stringify(keys)} text`, () => jsonInSteps(large, this.#sight.stepBytes));
    const bytes = this.bytesAt(keys);
    if (bytes === null) return null;
    const from = textFrom(bytes, 0);
    return [from < 0 ? Buffer.from(JSON.stringify(unpack(bytes))) : bytes.subarray(from)];
  }

  /** A list or map that is not decoded whole; null: it is small, something else, or missing. */
  #largeAt(keys: readonly string[]): Uint8Array | null {
    const bytes = this.isLarge ? this.bytesAt(keys) : null;
    if (bytes === null || bytes.length <= this.#sight.wholeBytesMax) return null;
    return listCount(bytes) >= 0 || mapCount(bytes) >= 0 ? bytes : null;
  }

  /** The same as it is stored: where that is in parts, so is this. */
  sectionsAt(keys: readonly string[]): readonly Section[] | null {
    const span = this.spanAt(keys);
    if (span === null) return null;
    return isParted(this.stored)
      ? sectionsWithin(sectionsOf(this.stored), span.from, span.to)
      : [this.stored.subarray(span.from, span.to)];
  }

  /** The entries of the map without those under these keys (packed). */
  without(keys: readonly Uint8Array[]): { readonly sections: readonly Section[]; readonly count: number } {
    const { bytes } = this;
    const name = `without ${keys.map(key => Buffer.from(key).toString())}`;
    const { stretches, count } = this.looks.find(name, () => entriesWithout(bytes, keys, this.#sight.stepBytes));
    const sections = asSections(this.stored);
    return { sections: stretches.flatMap(({ from, to }) => sectionsWithin(sections, from, to)), count };
  }
}

/** What conditions and templates look at. */
export function dataOf({ payload, context }: Pick<Token, 'payload' | 'context'>, config: Json): Data {
  const under = ({ root }: Path) => (root === 'payload' ? payload : context);
  const configured = dataOfValues({ config });
  return {
    value: path => (path.root === 'config' ? configured.value(path) : under(path).find(path.keys)),
    view: path => (path.root === 'config' ? configured.view(path) : under(path).view(path.keys)),
    text: path => (path.root === 'config' ? configured.text(path) : under(path).textAt(path.keys)),
  };
}

const resultKey = Buffer.from('\xa6result', 'latin1');

/** The packed map with `result`, which it has not yet. */
export function withResult(map: Uint8Array, result: Uint8Array): Uint8Array {
  return Buffer.concat([mapHead(mapCount(map) + 1), map.subarray(contentsOf(map)), resultKey, result]);
}

/** A result as a payload: a map as it is, nothing as an empty map, anything else as `{result: …}`. `headOf` finds how one in parts begins. */
export function asPayload(
  result: Uint8Array | undefined,
  headOf: (parted: Uint8Array) => Uint8Array = unreadable,
): Uint8Array {
  if (result === undefined || isNil(result)) return packedEmpty;
  if (!isParted(result)) return mapCount(result) >= 0 ? result : withResult(packedEmpty, result);
  const head = headOf(result);
  if (isNil(head)) return packedEmpty;
  return mapCount(head) >= 0 ? result : encodeParted([mapHead(1), resultKey, ...asSections(result)]);
}

function unreadable(): never {
  throw new Error('a value in parts where there is none');
}
