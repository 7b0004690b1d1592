// A token that moves through a run: its payload, its event, the last result, its baggage, and its origin.

import type { Path } from '../../../config/pipeline/definition.ts';
import type { EventEnvelope } from '../../../runtime/host/wire/plugin-host.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { entriesWithout, jsonInSteps, someElement, spanInSteps } from '../../../runtime/packed-steps.ts';
import { type Json, type JsonObject, packedEmpty, unpack } from '../../../runtime/packing.ts';
import {
  asSections,
  encodeParted,
  isParted,
  type Section,
  sectionsOf,
  sectionsWithin,
  wholeInSteps,
} from '../../../runtime/parted.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import {
  contentsOf,
  isNil,
  listCount,
  mapCount,
  mapHead,
  type Span,
  spanAt,
  textFrom,
} from '../../../runtime/splice.ts';
import { type EvaluationLimits, Evaluations, unlimited } from '../expressions/evaluations.ts';
import { type Data, dataOfValues, follow, LargeText, LargeValue, textOf } from '../expressions/lookup.ts';
import { besideAt } from '../join/join-payload.ts';

/**
 * A token. `cause`: the job that caused the token; null: the run itself. `result`: the result of the last job, or the payload of the join
 * after it, packed, possibly in parts; a packed null before the first job or join.
 */
export type Token = {
  readonly path: readonly number[];
  readonly payload: Packed;
  readonly context: Packed;
  readonly event: EventEnvelope;
  /** The length of the chain of jobs that led to the token. */
  readonly depth: number;
  readonly cause: JobId | null;
  readonly result: Uint8Array;
  readonly storedAs: StoredAs;
  /**
   * Whether all jobs that the token has passed, if any, were reused; its next job may then be reused, too. False outside the main part of a
   * run with `reuse`.
   */
  readonly isReused: boolean;
};

/**
 * Where the store has a token's payload. `'result'`: as the result of the token's cause or, if the token has no cause, as the payload of
 * the run. A span: as the payload of an event, at this place in the events of the cause. Null: nowhere; if the token is parked, its own
 * record contains the payload.
 */
export type StoredAs = 'result' | Span | null;

/** The position of new jobs in their run. */
export type StepPosition = Pick<Token, 'path' | 'cause' | 'depth' | 'event'> & {
  readonly scope: number;
  readonly node: number;
  readonly first: number | null;
  readonly context: Uint8Array;
  /** Whether the token has passed only reused jobs; absent: false. */
  readonly isReused?: boolean;
};

// `movedTo` and `carrying` list all fields: an object copied by spread has a hidden class of its own, which slows down every access.

export function movedTo(
  { payload, context, event, depth, cause, result, storedAs, isReused }: Token,
  path: readonly number[],
): Token {
  return { path, payload, context, event, depth, cause, result, storedAs, isReused };
}

export function carrying(
  { path, payload, event, depth, cause, result, storedAs, isReused }: Token,
  context: Packed,
): Token {
  return { path, payload, context, event, depth, cause, result, storedAs, isReused };
}

/** A packed value that is decoded on demand, and assembled if it is in parts. */
export class Packed {
  /** The stored form, possibly in parts. */
  readonly stored: Uint8Array;
  /** The evaluations of the value (evaluations.ts), with their results. */
  readonly evaluations: Evaluations;
  readonly #limits: EvaluationLimits;
  #value: Json | undefined;

  constructor(stored: Uint8Array, limits: EvaluationLimits = unlimited) {
    this.stored = stored;
    this.#limits = limits;
    this.evaluations = new Evaluations(limits);
  }

  get bytes(): Uint8Array {
    return isParted(this.stored)
      ? this.evaluations.find('whole', () => wholeInSteps(this.#limits.parts, this.stored))
      : this.stored;
  }

  get value(): Json {
    if (this.#value === undefined) this.#value = unpack<Json>(this.bytes);
    return this.#value;
  }

  get map(): JsonObject {
    return this.value as JsonObject;
  }

  /** Whether the value is too large to be decoded whole. */
  get isLarge(): boolean {
    return isParted(this.stored) || this.stored.length > this.#limits.wholeBytesMax;
  }

  /** The value under these keys; undefined if any of them is missing. */
  find(keys: readonly string[]): Json | undefined {
    if (!this.isLarge) return follow(this.value, keys);
    const bytes = this.bytesAt(keys);
    return bytes === null ? undefined : unpack<Json>(bytes);
  }

  /**
   * The value under these keys, for conditions: a large list or map stays packed, and a large text is decoded once. Undefined: a
   * key is missing.
   */
  view(keys: readonly string[]): Json | LargeValue | LargeText | undefined {
    const bytes = this.#largeAt(keys);
    if (bytes === null) return this.#viewText(keys) ?? this.find(keys);
    const [steps, name] = [this.#limits.stepBytes, JSON.stringify(keys)];
    return new LargeValue(bytes, (what, test) =>
      this.evaluations.find(`${name} ${what}`, () => someElement(bytes, test, steps)),
    );
  }

  /** The large text under these keys. Null: the value there is missing, small, or not a text. */
  #viewText(keys: readonly string[]): LargeText | null {
    const bytes = this.isLarge ? this.bytesAt(keys) : null;
    if (bytes === null || bytes.length <= this.#limits.stepBytes || textFrom(bytes, 0) < 0) return null;
    const name = JSON.stringify(keys);
    const text = this.evaluations.find(`${name} decoded`, () => inStep(() => unpack<string>(bytes)));
    return new LargeText(text, (what, test) => this.evaluations.find(`${name} ${what}`, () => inStep(test)));
  }

  /** The packed value under these keys; null if any of them is missing. */
  bytesAt(keys: readonly string[]): Uint8Array | null {
    const beside = keys.length === 1 && isParted(this.stored) ? besideAt(this.stored, keys[0]!) : null;
    if (beside !== null) return beside;
    const span = this.spanAt(keys);
    return span && this.bytes.subarray(span.from, span.to);
  }

  spanAt(keys: readonly string[]): Span | null {
    const { bytes } = this;
    if (!this.isLarge) return spanAt(bytes, keys);
    return this.evaluations.find(JSON.stringify(keys), () => spanInSteps(bytes, keys, this.#limits.stepBytes));
  }

  /** The value under these keys as text: a text as it is, anything else as JSON. Undefined: a key is missing. */
  textAt(keys: readonly string[]): string | undefined {
    const pieces = this.isLarge ? this.textPiecesAt(keys) : null;
    return pieces ? Buffer.concat(pieces).toString() : textOf(this.find(keys));
  }

  /** The bytes of the text that `textAt` returns, in pieces. Null: a key is missing. */
  textPiecesAt(keys: readonly string[]): readonly Uint8Array[] | null {
    const large = this.#largeAt(keys);
    if (large !== null)
      return this.evaluations.find(`${JSON.stringify(keys)} text`, () => jsonInSteps(large, this.#limits.stepBytes));
    const bytes = this.bytesAt(keys);
    if (bytes === null) return null;
    const from = textFrom(bytes, 0);
    return [from < 0 ? Buffer.from(JSON.stringify(unpack(bytes))) : bytes.subarray(from)];
  }

  /** The packed list or map under these keys, if it is too large to be decoded; otherwise null. */
  #largeAt(keys: readonly string[]): Uint8Array | null {
    const bytes = this.isLarge ? this.bytesAt(keys) : null;
    if (bytes === null || bytes.length <= this.#limits.wholeBytesMax) return null;
    return listCount(bytes) >= 0 || mapCount(bytes) >= 0 ? bytes : null;
  }

  /** The value under these keys in its stored form, which may be in parts. Null: a key is missing. */
  sectionsAt(keys: readonly string[]): readonly Section[] | null {
    const span = this.spanAt(keys);
    if (span === null) return null;
    return isParted(this.stored)
      ? sectionsWithin(sectionsOf(this.stored), span.from, span.to)
      : [this.stored.subarray(span.from, span.to)];
  }

  /** The entries of the map, except those with these (packed) keys. */
  without(keys: readonly Uint8Array[]): { readonly sections: readonly Section[]; readonly count: number } {
    const { bytes } = this;
    const name = `without ${keys.map(key => Buffer.from(key).toString())}`;
    const { spans, count } = this.evaluations.find(name, () => entriesWithout(bytes, keys, this.#limits.stepBytes));
    const sections = asSections(this.stored);
    return { sections: spans.flatMap(({ from, to }) => sectionsWithin(sections, from, to)), count };
  }
}

/** The data for conditions and templates. */
export function dataOf({ payload, context }: Pick<Token, 'payload' | 'context'>, config: Json): Data {
  const under = ({ root }: Path) => (root === 'payload' ? payload : context);
  const configured = dataOfValues({ config });
  return {
    value: path => (path.root === 'config' ? configured.value(path) : under(path).find(path.keys)),
    view: path => (path.root === 'config' ? configured.view(path) : under(path).view(path.keys)),
    text: path => (path.root === 'config' ? configured.text(path) : under(path).textAt(path.keys)),
  };
}

/** Does the work as one step, after which the turn may end. */
function* inStep<T>(work: () => T): Sliced<T> {
  const result = work();
  yield;
  return result;
}

const resultKey = Buffer.from('\xa6result', 'latin1');

/** The packed map with the key `result` added. The map must not have this key. */
export function withResult(map: Uint8Array, result: Uint8Array): Uint8Array {
  return Buffer.concat([mapHead(mapCount(map) + 1), map.subarray(contentsOf(map)), resultKey, result]);
}

/**
 * A result as a payload: a map is used as it is, null becomes an empty map, any other value becomes `{result: …}`. `headOf` returns the
 * first bytes of a value in parts; without it, a value in parts throws.
 */
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
  throw new Error('unexpected value in parts');
}
