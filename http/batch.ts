// Reads the payloads of a batch: JSON (`{"payloads": [...]}`) or NDJSON (one payload a line). The payloads are found, parsed,
// checked and packed one by one, in slices of about a millisecond. Other requests are handled between two slices, however many
// batches wait.
import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { canonicalText, isObject } from '../runtime/json-value.ts';
import { ListBuilder, type StoredList } from '../runtime/packed-list.ts';
import { pack } from '../runtime/packing.ts';
import { type Sliced, Slices } from '../runtime/slices.ts';
import { isNdjson } from './head.ts';
import { readJsonText } from './json.ts';
import { type HttpProblem, isProblem, type ProblemCode, type ProblemItem, problem } from './problem.ts';

export const batchPayloadsMax = 10_000;
/** The maximum number of errors in one answer. Reading stops when it has found this many. */
export const batchErrorsMax = 100;
/** The maximum size of a key, and of each member other than `payloads`, in bytes of JSON. */
const memberBytesMax = 16_384;
const hashBytes = 16;

export type BatchCheck = {
  /** The maximum size of a payload, in bytes of JSON. */
  readonly payloadBytesMax: number;
  /** Returns the errors of a payload, with pointers into the payload. */
  readonly check: (payload: object) => readonly ProblemItem[];
  /** The members that a JSON batch may have in addition to `payloads`. */
  readonly members: readonly string[];
  /** Whether the hash of all payloads is needed. */
  readonly isHashed: boolean;
  /** Whether the caller has disconnected, or its body was refused because other bodies needed the memory. Reading stops then. */
  readonly isGone: () => boolean;
};

export type PayloadBatch = {
  readonly kind: 'batch';
  readonly payloads: StoredList;
  /** The members other than `payloads`, unchecked; none for NDJSON. */
  readonly members: { readonly [name: string]: unknown };
  /**
   * The hash of the values of all payloads in their order. JSON and NDJSON with the same payloads have the same hash. Empty if
   * `isHashed` is false.
   */
  readonly hash: Uint8Array;
};

/** The search for the end of a value, or of space, can be interrupted about once in this many bytes. */
const bytesPerPause = 16_384;
/** Between two payloads, the reading can be interrupted about once in this many bytes. */
const payloadBytesPerPause = 512;
/** The time, in ms, after which other requests are handled before a batch continues. */
const batchMsMax = 1;
const slices = new Slices(() => undefined, batchMsMax);

/** Settles when all earlier batches have been read and handed to the ledger. */
let previousRead: Promise<unknown> = Promise.resolve();
/** Settles when all batches that were handed to the ledger are on disk or refused. */
let previousCommit: Promise<unknown> = Promise.resolve();

/**
 * Calls `read` when all earlier batches have been read, and then `commit` when all earlier batches are on disk: one batch is read while the ledger
 * accepts the one before it. Reading several batches at a time would hardly be faster, but would delay other requests by milliseconds.
 */
export async function inTurns<Batch extends object, Reply>(
  read: () => Promise<Batch | HttpProblem>,
  commit: (batch: Batch) => Promise<Reply>,
): Promise<Reply | HttpProblem> {
  const handedOver = previousRead.then(async () => {
    const batch = await read();
    if (isProblem(batch)) return { reply: batch };
    await previousCommit;
    const reply = commit(batch);
    previousCommit = reply.catch(() => undefined);
    return { reply };
  });
  previousRead = handedOver.catch(() => undefined);
  return (await handedOver).reply;
}

export function inSlices<T>(work: Sliced<T>): Promise<T> {
  return slices.share().run(work);
}

/**
 * Reads all payloads. Resolves with a problem if the batch is invalid. If `isGone` stopped the reading, later payloads are missing. `bytes` must
 * stay valid until the promise has settled.
 */
export async function readBatch(
  contentType: string | undefined,
  bytes: Buffer,
  how: BatchCheck,
): Promise<PayloadBatch | HttpProblem> {
  if (!isUtf8(bytes)) return problem('invalid_json', 'the body is not valid UTF-8');
  const reading = new Reading(bytes, how);
  try {
    return await inSlices(isNdjson(contentType) ? reading.lines() : reading.document());
  } catch (error) {
    if (error instanceof BatchFault) return problem(error.problemCode, error.message);
    throw error;
  }
}

/** Thrown if the body is refused as a whole. The errors of single payloads are collected instead. */
class BatchFault extends Error {
  readonly problemCode: ProblemCode;
  constructor(problemCode: ProblemCode, message: string) {
    super(message);
    this.problemCode = problemCode;
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const listStart = 0x5b;
const backslash = 0x5c;
const listEnd = 0x5d;
const objectStart = 0x7b;
const objectEnd = 0x7d;
const newline = 0x0a;

class Reading {
  readonly #bytes: Buffer;
  readonly #how: BatchCheck;
  readonly #payloads: ListBuilder;
  readonly #errors: (ProblemItem & { readonly index: number })[] = [];
  /** The first error as a sentence. */
  #firstError = '';
  readonly #hash: Hash | null;
  #code: ProblemCode = 'invalid_payload';
  readonly #members: { [name: string]: unknown } = {};
  #index = 0;
  #at = 0;
  /** How many brackets are open at `#at`, within the value whose end is searched. */
  #depth = 0;
  /** Whether `#at` is inside a string of that value. */
  #isInString = false;
  /** Where `#isPauseDue` last returned true. */
  #pausedAt = 0;

  constructor(bytes: Buffer, how: BatchCheck) {
    this.#bytes = bytes;
    this.#how = how;
    this.#payloads = new ListBuilder(bytes.length);
    this.#hash = how.isHashed ? createHash('sha256') : null;
  }

  /** Reads NDJSON: one payload a line. Blank lines are skipped. */
  *lines(): Sliced<PayloadBatch | HttpProblem> {
    const bytes = this.#bytes;
    while (this.#at < bytes.length && !this.#isEnough) {
      const found = bytes.indexOf(newline, this.#at);
      const end = found < 0 ? bytes.length : found;
      const start = this.#at;
      while (!this.#skipSpace(end)) yield;
      if (this.#at < end) this.#take(start, end);
      this.#at = end + 1;
      if (this.#isPauseDue()) yield;
    }
    return this.#end();
  }

  /** Reads JSON of the form `{"payloads": [ … ]}`, to which the known members may be added. */
  *document(): Sliced<PayloadBatch | HttpProblem> {
    yield* this.#expect(objectStart);
    const keys = new Set<string>();
    if ((yield* this.#peek()) !== objectEnd) {
      for (let isFirst = true; isFirst || (yield* this.#peek()) === comma; isFirst = false) {
        if (!isFirst) this.#at++;
        const key = yield* this.#key();
        if (keys.has(key))
          throw new BatchFault('invalid_json', `the key ${JSON.stringify(key)} occurs twice at byte ${this.#at}`);
        if (key !== 'payloads') yield* this.#takeMember(key);
        else if ((yield* this.#peek()) !== listStart)
          throw new BatchFault('invalid_request', '/payloads must be a list');
        else yield* this.#elements();
        keys.add(key);
        if (this.#isEnough) return this.#end();
      }
    }
    yield* this.#expect(objectEnd);
    if ((yield* this.#peek()) !== undefined) throw malformed('nothing more', this.#at);
    if (!keys.has('payloads')) throw new BatchFault('invalid_request', '/payloads is required: a list of payloads');
    return this.#end();
  }

  *#takeMember(key: string): Sliced<void> {
    const { members } = this.#how;
    if (!members.includes(key)) {
      const known = ['payloads', ...members].join(', ');
      throw new BatchFault('invalid_request', `/${key} is not a known field; known fields: ${known}`);
    }
    yield* this.#peek();
    const start = this.#at;
    while (!this.#toValueEnd()) yield;
    if (this.#at - start > memberBytesMax)
      throw new BatchFault('invalid_request', `/${key} has more than ${memberBytesMax} bytes`);
    const reading = readJsonText(this.#bytes.toString('utf8', start, this.#at));
    if (reading.kind === 'refused') throw malformed(`a value of "${key}"`, start);
    this.#members[key] = reading.value;
  }

  *#elements(): Sliced<void> {
    this.#at++;
    if ((yield* this.#peek()) === listEnd) this.#at++;
    else {
      for (let more = true; more && !this.#isEnough; ) {
        while (!this.#skipSpace()) yield;
        const start = this.#at;
        while (!this.#toValueEnd()) yield;
        if (this.#at === start) throw malformed('a payload', start);
        this.#take(start, this.#at);
        if (this.#isPauseDue()) yield;
        while (!this.#skipSpace()) yield;
        more = this.#bytes[this.#at] === comma;
        if (more) this.#at++;
        else yield* this.#expect(listEnd, '"," or "]"');
      }
    }
  }

  #take(start: number, end: number): void {
    if (this.#index === batchPayloadsMax) {
      throw new BatchFault(
        'invalid_request',
        `a batch has at most ${batchPayloadsMax} payloads; divide it into several batches`,
      );
    }
    const index = this.#index++;
    const { payloadBytesMax, check } = this.#how;
    if (end - start > payloadBytesMax) {
      const message = `has ${end - start} bytes; a payload has at most ${payloadBytesMax}: api.max_body_size sets how many`;
      this.#refuse(index, '', message, `payload ${index} ${message}`);
      return;
    }
    const reading = readJsonText(this.#bytes.toString('utf8', start, end));
    if (reading.kind === 'refused') {
      this.#code = 'invalid_json';
      const message = `${reading.message} of the payload`;
      this.#refuse(index, reading.pointer ?? '', message, `payload ${index}: ${message}`);
    } else if (!isObject(reading.value))
      this.#refuse(index, '', 'must be an object', `payload ${index} must be an object`);
    else {
      const errors = check(reading.value);
      for (const { pointer, message } of errors)
        this.#refuse(index, pointer, message, `payload ${index}${pointer === '' ? '' : `: ${pointer}`} ${message}`);
      if (errors.length === 0 && this.#errors.length === 0) {
        this.#payloads.add(pack(reading.value));
        this.#hash?.update(canonicalText(reading.value)).update('\n');
      }
    }
  }

  #refuse(index: number, pointer: string, message: string, sentence: string): void {
    if (this.#errors.length === 0) this.#firstError = sentence;
    this.#errors.push({ index, pointer, message });
  }

  get #isEnough(): boolean {
    return this.#errors.length >= batchErrorsMax || this.#how.isGone();
  }

  #end(): PayloadBatch | HttpProblem {
    const errors = this.#errors.slice(0, batchErrorsMax);
    if (errors.length > 0) {
      const others = errors.length === 1 ? '' : `; errors has ${errors.length} in all`;
      return problem(this.#code, this.#firstError + others, { errors });
    }
    if (this.#payloads.count === 0) return problem('invalid_request', 'a batch has at least one payload');
    const hash = this.#hash?.digest().subarray(0, hashBytes) ?? new Uint8Array(0);
    return { kind: 'batch', payloads: this.#payloads.list(), members: this.#members, hash };
  }

  /**
   * Moves `#at` towards the end of the value there: the comma or closing bracket after the value, or the end of the bytes. Returns whether it
   * is reached; otherwise the caller yields, and calls again. The end of an invalid value may be wrong; such a value is refused when it is
   * parsed.
   */
  #toValueEnd(): boolean {
    const bytes = this.#bytes;
    const pauseAt = Math.min(this.#at + bytesPerPause, bytes.length);
    let depth = this.#depth;
    let at = this.#at;
    let isInString = this.#isInString;
    let isEnd = false;
    for (; at < pauseAt; at++) {
      const byte = bytes[at]!;
      if (isInString) {
        if (byte === backslash) at++;
        else isInString = byte !== quote;
      } else if (byte === quote) isInString = true;
      else if (byte === objectStart || byte === listStart) depth++;
      else if (byte === comma) isEnd = depth === 0;
      else if (byte === objectEnd || byte === listEnd) isEnd = depth-- === 0;
      if (isEnd) break;
    }
    isEnd ||= at >= bytes.length;
    this.#at = Math.min(at, bytes.length);
    this.#depth = isEnd ? 0 : depth;
    this.#isInString = !isEnd && isInString;
    return isEnd;
  }

  /** Whether payloads of `payloadBytesPerPause` bytes were taken since the last pause. */
  #isPauseDue(): boolean {
    if (this.#at - this.#pausedAt < payloadBytesPerPause) return false;
    this.#pausedAt = this.#at;
    return true;
  }

  /** Skips space. Returns the next byte without taking it, or undefined at the end of the body. */
  *#peek(): Sliced<number | undefined> {
    while (!this.#skipSpace()) yield;
    return this.#bytes[this.#at];
  }

  /** Skips at most `bytesPerPause` bytes of space. False: there may be more of it. */
  #skipSpace(end = this.#bytes.length): boolean {
    const pauseAt = Math.min(this.#at + bytesPerPause, end);
    while (this.#at < pauseAt && isSpace(this.#bytes[this.#at]!)) this.#at++;
    return this.#at < pauseAt || pauseAt === end;
  }

  *#expect(byte: number, wanted = `"${String.fromCharCode(byte)}"`): Sliced<void> {
    if ((yield* this.#peek()) !== byte) throw malformed(wanted, this.#at);
    this.#at++;
  }

  *#key(): Sliced<string> {
    if ((yield* this.#peek()) !== quote) throw malformed('a key in quotes', this.#at);
    const end = stringEnd(this.#bytes.subarray(0, this.#at + memberBytesMax + 1), this.#at);
    if (end - this.#at > memberBytesMax)
      throw new BatchFault('invalid_request', `the key at byte ${this.#at} has more than ${memberBytesMax} bytes`);
    const reading = readJsonText(this.#bytes.toString('utf8', this.#at, end));
    if (reading.kind === 'refused') throw malformed('a key in quotes', this.#at);
    this.#at = end;
    yield* this.#expect(colon);
    return String(reading.value);
  }
}

function malformed(wanted: string, at: number): BatchFault {
  return new BatchFault('invalid_json', `JSON is malformed: ${wanted} was expected at byte ${at}`);
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === newline;
}

/**
 * Finds the end of the string at `start`: the position after its closing quote, or the end of the bytes if the quote is missing.
 */
function stringEnd(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let before = end;
    while (bytes[before - 1] === backslash) before--;
    if ((end - before) % 2 === 0) return end + 1;
  }
  return bytes.length;
}
