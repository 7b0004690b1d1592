// How one attempt of a job ended, as it is stored: a short head, then the response's parts just as the host sent them.
//
//   status (1) | final (1) | started (8, µs) | completed (8, µs) | body
import { type Body, bodyPart } from '../../runtime/host/outcome.ts';
import { type JobId, jobIdBytes } from '../../runtime/ids.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { statuses, type TerminalStatus } from './record.ts';

const headBytes = 18;

/** `final`: the job ended with it; else another attempt follows. The status is the attempt's own. */
export type Attempt = {
  readonly status: TerminalStatus;
  readonly final: boolean;
  readonly startedUs: number;
  readonly completedUs: number;
  readonly body: Body;
};

/** Job id, then the attempt's number: attempts of a job lie side by side, in order. */
export function attemptKey(id: Uint8Array, attempt: number): Buffer {
  const key = Buffer.allocUnsafe(jobIdBytes + 2);
  key.set(id, 0);
  key.writeUInt16BE(attempt, jobIdBytes);
  return key;
}

const codes = new Map<string, number>(statuses.map((status, code) => [status, code]));

export function encodeAttempt(attempt: Attempt): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + attempt.body.length);
  bytes[0] = codes.get(attempt.status)!;
  bytes[1] = attempt.final ? 1 : 0;
  bytes.writeDoubleLE(attempt.startedUs, 2);
  bytes.writeDoubleLE(attempt.completedUs, 10);
  bytes.set(attempt.body, headBytes);
  return bytes;
}

export function decodeAttempt(value: Uint8Array): Attempt {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return {
    status: statuses[bytes[0]!] as TerminalStatus,
    final: bytes[1] === 1,
    startedUs: bytes.readDoubleLE(2),
    completedUs: bytes.readDoubleLE(10),
    body: bytes.subarray(headBytes),
  };
}

/** An attempt and its number. */
export type Ending = { readonly number: number; readonly attempt: Attempt };

/** The latest attempt of a job that has ended. */
export function latestAttempt(reader: Reader, id: JobId): Ending | undefined {
  // Most jobs end with their first one.
  const value = reader.get('attempts', attemptKey(id, 1));
  const first = value && decodeAttempt(value);
  if (first?.final) return { number: 1, attempt: first };
  const range = { from: attemptKey(id, 0), to: attemptKey(id, 0xffff), reverse: true, limit: 1 };
  for (const { key, value } of reader.scan('attempts', range)) {
    return { number: (key[16]! << 8) | key[17]!, attempt: decodeAttempt(value) };
  }
  return undefined;
}

/** What went wrong, in words, or null. */
export function errorOf(body: Body): string | null {
  const error = bodyPart(body, 'error');
  return error ? Buffer.from(error).toString() : null;
}
