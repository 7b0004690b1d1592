// The stored form of an ended attempt: a short head, then the body (runtime/host/wire/outcome.ts).
//
//   status (1) | flags (1) | started (8, µs) | completed (8, µs) | body; only its first byte if the body is stored apart (attempts.ts)
//
// The first byte of a body says which parts it has.
import { copyBytes } from '../../../runtime/bytes.ts';
import {
  type Body,
  bodyPart,
  decodeBody,
  emptyBody,
  encodeBody,
  hasDeflated,
  hasPart,
  partedResult,
} from '../../../runtime/host/wire/outcome.ts';
import { shownOf } from '../../../runtime/parted.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { statuses, type TerminalStatus } from './job.ts';

/** The offset of the body in a record. */
const bodyAt = 18;
/** The length of a record whose body is stored apart. */
export const headBytes = bodyAt + 1;
const finalFlag = 1;
const apartFlag = 2;

/** `final`: the job ended with this attempt; otherwise another attempt follows. */
export type Attempt = {
  readonly status: TerminalStatus;
  readonly final: boolean;
  readonly startedUs: number;
  readonly completedUs: number;
  readonly body: Body;
};

const codes = new Map<string, number>(statuses.map((status, code) => [status, code]));

/** The length of the attempt's record, if the body is stored in it. */
export function attemptBytes({ body }: Attempt): number {
  return bodyAt + body.length;
}

export function writeAttempt(bytes: Buffer, at: number, attempt: Attempt): void {
  writeHead(bytes, at, attempt, 0);
  copyBytes(bytes, at + bodyAt, attempt.body);
}

/** Writes the record of an attempt whose body is stored apart. */
export function writeApart(bytes: Buffer, at: number, attempt: Attempt): void {
  writeHead(bytes, at, attempt, apartFlag);
  bytes[at + bodyAt] = attempt.body[0]!;
}

function writeHead(bytes: Buffer, at: number, attempt: Attempt, flags: number): void {
  bytes[at] = codes.get(attempt.status)!;
  bytes[at + 1] = attempt.final ? flags | finalFlag : flags;
  bytes.writeDoubleLE(attempt.startedUs, at + 2);
  bytes.writeDoubleLE(attempt.completedUs, at + 10);
}

/** Whether the body of the attempt whose record begins at this offset is stored apart. */
export function isApart(bytes: Uint8Array, at: number): boolean {
  return (bytes[at + 1]! & apartFlag) !== 0;
}

/**
 * An attempt that was read. A body that is stored apart may be large, so each access reads it again. A pruned body is shown as
 * empty.
 */
export class StoredAttempt implements Attempt {
  readonly #reader: Reader;
  readonly #page: Buffer;
  readonly #start: number;
  readonly #end: number;
  readonly #readApart: () => Body | undefined;

  /**
   * The record of the attempt lies in the page from `start` up to, not including, `end`. Throws a RangeError if the page is too short for
   * the record's fields.
   */
  constructor(reader: Reader, page: Buffer, start: number, end: number, readApart: () => Body | undefined) {
    if (start + bodyAt > page.length) throw new RangeError('the record of an attempt is incomplete');
    this.#reader = reader;
    this.#page = page;
    this.#start = start;
    this.#end = end;
    this.#readApart = readApart;
  }

  get status(): TerminalStatus {
    return statuses[this.#page[this.#start]!] as TerminalStatus;
  }

  get final(): boolean {
    return (this.#page[this.#start + 1]! & finalFlag) !== 0;
  }

  get startedUs(): number {
    return this.#page.readDoubleLE(this.#start + 2);
  }

  get completedUs(): number {
    return this.#page.readDoubleLE(this.#start + 10);
  }

  get body(): Body {
    const body = this.stored;
    const parted = partedResult(body);
    if (parted === null) return body;
    const result = shownOf(this.#reader, parted);
    return encodeBody({ ...decodeBody(body), counts: bodyPart(body, 'counts'), result });
  }

  /** The result, if it is a value in parts; otherwise null. */
  get parted(): Uint8Array | null {
    return partedResult(this.stored);
  }

  /** The body as it is stored. Its result may be a value in parts. */
  get stored(): Body {
    return isApart(this.#page, this.#start) ? (this.#readApart() ?? emptyBody) : this.#kept;
  }

  /**
   * Whether reading the body takes longer than reading the record: the body is stored apart or partly deflated, or its result is a value
   * in parts.
   */
  get isLarge(): boolean {
    return isApart(this.#page, this.#start) || hasDeflated(this.#kept) || partedResult(this.#kept) !== null;
  }

  /** A part of the body as text. Null: the body does not have this part, or has been pruned. */
  text(part: 'error' | 'stderr'): string | null {
    return hasPart(this.#kept, part) ? textOf(this.stored, part) : null;
  }

  /** The part of the body that is in the record itself: all of it, or only its first byte. */
  get #kept(): Body {
    return this.#page.subarray(this.#start + bodyAt, this.#end);
  }
}

export function errorOf(body: Body): string | null {
  return textOf(body, 'error');
}

function textOf(body: Body, part: 'error' | 'stderr'): string | null {
  const bytes = bodyPart(body, part);
  return bytes ? Buffer.from(bytes).toString() : null;
}
