// A token on its way through a run: the event or result it carries, its baggage, and where it has come from.
import type { EventEnvelope } from '../../runtime/host/wire/plugin-host.ts';
import type { JobId } from '../../runtime/ids.ts';
import { type Json, type JsonObject, packedEmpty, unpack } from '../../runtime/packing.ts';
import { asSections, encodeParted, isParted } from '../../runtime/parted.ts';
import { contentsOf, isNil, mapCount, mapHead, spanAt } from '../../runtime/splice.ts';
import { besideAt } from './join-payload.ts';
import { type Data, follow, type Large } from './lookup.ts';

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
export function movedTo({ payload, context, event, depth, cause, result }: Token, path: readonly number[]): Token {
  return { path, payload, context, event, depth, cause, result };
}

/** The token with other baggage. */
export function carrying({ path, payload, event, depth, cause, result }: Token, context: Packed): Token {
  return { path, payload, context, event, depth, cause, result };
}

/** Packed data is decoded whole when it takes no more than this; of what is larger, only what is asked for. */
const wholeBytesMax = 4096;

/** Packed bytes that are decoded when somebody asks for their value, and put together when they are in parts. */
export class Packed {
  /** As they are written: perhaps in parts. */
  readonly stored: Uint8Array;
  readonly #read: (parted: Uint8Array) => Uint8Array;
  #whole: Uint8Array | null;
  #value: Json | undefined;

  constructor(stored: Uint8Array, read: (parted: Uint8Array) => Uint8Array = unreadable) {
    this.stored = stored;
    this.#read = read;
    this.#whole = isParted(stored) ? null : stored;
  }

  get bytes(): Uint8Array {
    this.#whole ??= this.#read(this.stored);
    return this.#whole;
  }

  get value(): Json {
    if (this.#value === undefined) this.#value = unpack<Json>(this.bytes);
    return this.#value;
  }

  get map(): JsonObject {
    return this.value as JsonObject;
  }

  /** What lies under the keys; undefined when something on the way is missing. */
  find(keys: readonly string[]): Json | undefined {
    const beside = this.#whole === null && keys.length === 1 ? besideAt(this.stored, keys[0]!) : null;
    if (beside !== null) return unpack<Json>(beside);
    if (this.#value !== undefined || this.bytes.length <= wholeBytesMax) return follow(this.value, keys);
    const bytes = this.bytesAt(keys);
    return bytes === null ? undefined : unpack<Json>(bytes);
  }

  /** The same, packed. */
  bytesAt(keys: readonly string[]): Uint8Array | null {
    const span = spanAt(this.bytes, keys);
    return span && this.bytes.subarray(span.from, span.to);
  }
}

/** What conditions and templates look at. */
export function dataOf({ payload, context }: Pick<Token, 'payload' | 'context'>, config: Json): Data {
  return ({ root, keys }) => {
    if (root === 'config') return follow(config, keys);
    return (root === 'payload' ? payload : context).find(keys);
  };
}

/** What templates take as it is, without decoding it: null where that is not worth it. */
export function largeOf({ payload, context }: Pick<Token, 'payload' | 'context'>): Large {
  return ({ root, keys }) => {
    if (root === 'config') return null;
    const packed = root === 'payload' ? payload : context;
    return !isParted(packed.stored) && packed.bytes.length <= wholeBytesMax ? null : packed.bytesAt(keys);
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
