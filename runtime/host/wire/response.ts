// Turns a plugin's answer or error into the result of a task. Checks an answer against the contract, and packs each part once.

import { types } from 'node:util';
import { isObject } from '../../json-value.ts';
import { pack, packedEmpty } from '../../packing.ts';
import type { EmittedEvent, LogLine, Span } from '../api/plugin-api.ts';
import { type Mask, mapFields, mapList, type UnknownFields } from './mask.ts';
import { type Body, emptyBody, encodeBody, encodeDeflated, type HostBodyPart, partsBytes } from './outcome.ts';
import { spansMax } from './packed-spans.ts';
import { packPlain, takeTextCount, toPlainValue } from './plain-value.ts';
import type { Verdict } from './plugin-host.ts';

/** The maximum size of a response, the same as for a program's stdout. A larger response would delay the ledger. */
export const responseBytesMax = 10 * 2 ** 20;
export const logLinesMax = 1000;
export const logMessageCharsMax = 16 * 1024;
/** The maximum total length of all log messages of an attempt. */
export const logCharsMax = 4 * 2 ** 20;
const errorCharsMax = 64 * 1024;
/** The maximum lengths of an event's type and dedupe key. Both are stored with each group of jobs that the event creates. */
const eventTypeCharsMax = 256;
const dedupeKeyCharsMax = 4096;

/** How a task ended. `stateUpdates`: the state updates as plain values (the body has them in packed form); null: none. */
export type TaskResult = {
  readonly verdict: Verdict;
  readonly permanent: boolean;
  readonly body: Body;
  readonly stateUpdates: { readonly [key: string]: unknown } | null;
};

/** A task's output besides its response: from the helpers `log`, `span` and `emit`, or on stderr. */
export type HelperOutput = {
  readonly events?: readonly EmittedEvent[];
  readonly logs?: readonly LogLine[];
  readonly spans?: readonly Span[];
  readonly stderr?: string | undefined;
  /** How many integers in the response became text (exact-json.ts). */
  readonly integersAsText?: number;
};

export const okResult: TaskResult = { verdict: 'ok', permanent: false, body: emptyBody, stateUpdates: null };
const noOutput: HelperOutput = {};

type ResponseParts = { [P in HostBodyPart]: Uint8Array | undefined };

/** A response without parts. It has all members, because objects of the same shape are faster. */
function noParts(): ResponseParts {
  return {
    result: undefined,
    events: undefined,
    state_updates: undefined,
    logs: undefined,
    error: undefined,
    stderr: undefined,
    spans: undefined,
  };
}

/**
 * Makes the result of a task from the plugin's answer (docs/contract.md#requests-and-responses). `statusRequired`: false for
 * workers, which may omit `status`. `aside`: other output of the task. `mask` masks the plugin's secrets.
 */
export function resultOfAnswer(
  answer: unknown,
  statusRequired: boolean,
  aside: HelperOutput = noOutput,
  mask: Mask | null = null,
): TaskResult {
  takeTextCount();
  try {
    return settleFields(masked(answer, mask), statusRequired, masked(aside, mask));
  } catch (error) {
    return resultOfFailure(`invalid response: ${describe(error)}`, false, aside, 'error', mask);
  }
}

const lists = ['events', 'logs', 'spans'];

/**
 * Masks an answer or other output. The field names that the contract defines, a valid `status`, and `dur_ns` stay as they are. Must be
 * called before anything is cut, because a part of a secret would not be recognized.
 */
function masked<T>(output: T, mask: Mask | null): T {
  if (mask === null || output === noOutput) return output;
  const plain = toPlainValue(output);
  if (!isObject(plain)) return mask.value(plain) as T;
  return mapFields(plain, (part, name) => {
    if (name === 'integersAsText') return part;
    if (name === 'status' && (part === 'ok' || part === 'error')) return part;
    if (!lists.includes(name) || !Array.isArray(part)) return mask.value(part);
    return mapList(part, item => (isObject(item) ? maskedItem(item, mask) : mask.value(item)));
  }) as T;
}

function maskedItem(item: UnknownFields, mask: Mask): UnknownFields {
  return mapFields(item, (value, name) => (name === 'dur_ns' ? value : mask.value(value)));
}

/** The result of a task that failed for this reason, or (with `verdict`) timed out. */
export function resultOfFailure(
  reason: string,
  permanent: boolean,
  aside: HelperOutput = noOutput,
  verdict: Verdict = 'error',
  mask: Mask | null = null,
): TaskResult {
  const found = noParts();
  found.error = Buffer.from(cut(masked(reason, mask), errorCharsMax));
  try {
    addOutput(found, masked(aside, mask));
  } catch {
    // The other output cannot be packed. The reason is still kept.
  }
  const { error, stderr } = found;
  const bytes = partsBytes(found);
  const body = bytes > responseBytesMax ? encodeBody({ error, stderr }) : encodeDeflated(found, bytes);
  return { verdict, permanent, body, stateUpdates: null };
}

export function tooLargeReason(bytes: number): string {
  return `invalid response: it has ${bytes} bytes; the limit is ${responseBytesMax}`;
}

export function timeOutReason(deadlineMs: number): string {
  return `timed out after ${deadlineMs} ms`;
}

/** The result of a task whose handler threw: retryable, unless the error has `retry: false`. */
export function resultOfError(thrown: unknown, aside: HelperOutput = noOutput, mask: Mask | null = null): TaskResult {
  let permanent = false;
  try {
    permanent = (thrown as { retry?: unknown } | null)?.retry === false;
  } catch {
    // If reading `retry` throws, the error counts as an error without `retry`.
  }
  return resultOfFailure(describe(thrown), permanent, aside, 'error', mask);
}

export function describe(thrown: unknown): string {
  try {
    // `isNativeError` also recognizes errors of another realm, such as a `vm` context.
    if (!(thrown instanceof Error) && !types.isNativeError(thrown)) return shownText(thrown);
    const message = shownText(thrown.message || thrown.name);
    return thrown.name === 'Error' || thrown.name === 'TypeError' ? message : `${thrown.name}: ${message}`;
  } catch {
    return 'the thrown value cannot be converted to text';
  }
}

/** Converts a thrown value, or the message of an error, to text. Some libraries set a list or an object as the message. */
function shownText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
}

function settleFields(answer: unknown, statusRequired: boolean, aside: HelperOutput): TaskResult {
  if (answer === undefined || answer === null) {
    if (statusRequired) throw new TypeError('it must be an object');
    return settleParts(noParts(), true, null, false, aside);
  }
  if (!isObject(answer)) throw new TypeError(`it must be an object, not ${kindOf(answer)}`);
  const { status, result, error, retry, events, state_updates: updates, logs, spans } = answer;
  if (status === undefined ? statusRequired : status !== 'ok' && status !== 'error') {
    throw new TypeError(`status must be "ok" or "error", not ${kindOf(status)}`);
  }
  const ok = status !== 'error';
  if (!ok && (typeof error !== 'string' || error === ''))
    throw new TypeError('error must be a string when status is "error"');
  if (retry !== undefined && typeof retry !== 'boolean')
    throw new TypeError(`retry must be a boolean, not ${kindOf(retry)}`);
  const found = noParts();
  const plainResult = readPlain('result', result, 'a string or an object', isResult);
  if (plainResult !== null) found.result = pack(plainResult);
  const stateUpdates = ok ? readPlain('state_updates', updates, 'an object', isObject) : null;
  const output =
    events === undefined && logs === undefined && spans === undefined
      ? aside
      : {
          stderr: aside.stderr,
          integersAsText: aside.integersAsText ?? 0,
          events: join(aside.events, readList('events', events, readEvent)),
          logs: join(aside.logs, readList('logs', logs, readLog)),
          spans: join(aside.spans, readList('spans', spans, readSpan)),
        };
  if (!ok) found.error = Buffer.from(cut(error as string, errorCharsMax));
  return settleParts(found, ok, stateUpdates, !ok && retry === false, output);
}

function settleParts(
  found: ResponseParts,
  ok: boolean,
  stateUpdates: UnknownFields | null,
  permanent: boolean,
  aside: HelperOutput,
): TaskResult {
  if (stateUpdates !== null) {
    const packed = pack(stateUpdates);
    if (packed[0] !== packedEmpty[0]) found.state_updates = packed;
  }
  addOutput(found, aside);
  const bytes = partsBytes(found);
  if (bytes > responseBytesMax) {
    return resultOfFailure(tooLargeReason(bytes), true, { stderr: aside.stderr });
  }
  // Empty updates change nothing, even if the command's updates replace the state.
  const updates = found.state_updates === undefined ? null : stateUpdates;
  return { verdict: ok ? 'ok' : 'error', permanent, body: encodeDeflated(found, bytes), stateUpdates: updates };
}

function addOutput(found: ResponseParts, { events, logs, spans, stderr, integersAsText = 0 }: HelperOutput): void {
  if (events && events.length > 0) found.events = packNamed('events', events);
  if (spans && spans.length > 0) found.spans = packNamed('spans', spans.slice(0, spansMax));
  // BigInts are counted now, because all parts that may contain a BigInt have been packed.
  const integers = integersAsText + takeTextCount();
  const lines = integers === 0 ? logs : [integersAsTextWarning(integers), ...(logs ?? [])];
  if (lines && lines.length > 0) found.logs = packNamed('logs', capLogs(lines));
  if (stderr) found.stderr = Buffer.from(stderr);
}

function integersAsTextWarning(count: number): LogLine {
  const what = count === 1 ? 'an integer' : `${count} integers`;
  return { level: 'warn', message: `[${what} beyond ±9007199254740991, or of type BigInt, became text]` };
}

function capLogs(logs: readonly LogLine[]): LogLine[] {
  const kept: LogLine[] = [];
  let chars = 0;
  for (const { level, message } of logs) {
    const shown = cut(message, logMessageCharsMax);
    chars += shown.length;
    if (kept.length === logLinesMax || chars > logCharsMax) {
      return [...kept, { level: 'warn', message: `[lines after the first ${kept.length} were cut]` }];
    }
    kept.push({ level, message: shown });
  }
  return kept;
}

export function readEvent(value: unknown, at: string): EmittedEvent {
  if (!isObject(value)) throw new TypeError(`${at} must be an object, not ${kindOf(value)}`);
  const { type, payload = {}, dedupe_key } = value;
  if (typeof type !== 'string' || type === '') throw new TypeError(`${at}.type must be a string, not ${kindOf(type)}`);
  refuseLong(type, `${at}.type`, eventTypeCharsMax);
  if (dedupe_key === undefined || dedupe_key === null) return { type, payload: payload as never };
  if (typeof dedupe_key !== 'string')
    throw new TypeError(`${at}.dedupe_key must be a string, not ${kindOf(dedupe_key)}`);
  refuseLong(dedupe_key, `${at}.dedupe_key`, dedupeKeyCharsMax);
  return { type, payload: payload as never, dedupe_key };
}

function refuseLong(text: string, at: string, charsMax: number): void {
  if (text.length > charsMax) throw new TypeError(`${at} has ${text.length} characters; at most ${charsMax}`);
}

export function readLog(value: unknown, at: string): LogLine {
  if (!isObject(value)) throw new TypeError(`${at} must be an object, not ${kindOf(value)}`);
  const { level, message } = value;
  if (typeof level !== 'string') throw new TypeError(`${at}.level must be a string, not ${kindOf(level)}`);
  if (typeof message !== 'string') throw new TypeError(`${at}.message must be a string, not ${kindOf(message)}`);
  return { level, message };
}

function readSpan(value: unknown, at: string): Span {
  if (!isObject(value)) throw new TypeError(`${at} must be an object, not ${kindOf(value)}`);
  const { name, dur_ns } = value;
  if (typeof name !== 'string') throw new TypeError(`${at}.name must be a string, not ${kindOf(name)}`);
  if (typeof dur_ns !== 'number' || !Number.isFinite(dur_ns) || dur_ns < 0) {
    throw new TypeError(`${at}.dur_ns must be a number of nanoseconds, not ${kindOf(dur_ns)}`);
  }
  return { name, dur_ns };
}

function readList<T>(name: string, value: unknown, read: (item: unknown, at: string) => T): readonly T[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new TypeError(`${name} must be a list, not ${kindOf(value)}`);
  // Unlike `map`, `Array.from` also visits the holes of a sparse list.
  return Array.from(value, (item, i) => read(item, `${name}[${i}]`));
}

/**
 * Converts a value to a plain value; null if the value is absent. Throws if the value, or the result of its `toJSON`, has the wrong type.
 */
function readPlain<T>(
  name: string,
  value: unknown,
  wanted: string,
  isWanted: (value: unknown) => value is T,
): T | null {
  if (value === undefined || value === null) return null;
  const plain = isWanted(value) ? named(name, () => toPlainValue(value)) : value;
  if (plain === null || isWanted(plain)) return plain;
  throw new TypeError(`${name} must be ${wanted}, not ${kindOf(plain)}`);
}

function join<T>(before: readonly T[] | undefined, after: readonly T[]): readonly T[] {
  return before === undefined || before.length === 0 ? after : [...before, ...after];
}

function packNamed(name: string, value: unknown): Buffer {
  return named(name, () => packPlain(value));
}

function named<T>(name: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new TypeError(`${name} cannot be serialised: ${describe(error)}`);
  }
}

function isResult(value: unknown): value is string | UnknownFields {
  return typeof value === 'string' || isObject(value);
}

/** A short description of a value of the wrong type, for a message. */
function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return JSON.stringify(cut(value, 40));
  return typeof value === 'object' ? 'an object' : typeof value === 'function' ? 'a function' : String(value);
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`;
}
