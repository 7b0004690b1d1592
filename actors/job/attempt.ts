// How one attempt of a job ended, as it is stored: a short head, then the response's parts just as the host sent them.
//
//   status (1) | final (1) | started (8, µs) | completed (8, µs) | body
import { copyBytes } from '../../runtime/bytes.ts';
import { type Body, bodyPart } from '../../runtime/host/outcome.ts';
import { statuses, type TerminalStatus } from './record.ts';

/** Where the body begins in a record. */
export const bodyAt = 18;

/** `final`: the job ended with it; else another attempt follows. The status is the attempt's own. */
export type Attempt = {
  readonly status: TerminalStatus;
  readonly final: boolean;
  readonly startedUs: number;
  readonly completedUs: number;
  readonly body: Body;
};

const codes = new Map<string, number>(statuses.map((status, code) => [status, code]));

/** How long its record is. */
export function attemptBytes({ body }: Attempt): number {
  return bodyAt + body.length;
}

export function writeAttempt(bytes: Buffer, at: number, attempt: Attempt): void {
  bytes[at] = codes.get(attempt.status)!;
  bytes[at + 1] = attempt.final ? 1 : 0;
  bytes.writeDoubleLE(attempt.startedUs, at + 2);
  bytes.writeDoubleLE(attempt.completedUs, at + 10);
  copyBytes(bytes, at + bodyAt, attempt.body);
}

export function decodeAttempt(value: Uint8Array): Attempt {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return {
    status: statuses[bytes[0]!] as TerminalStatus,
    final: bytes[1] === 1,
    startedUs: bytes.readDoubleLE(2),
    completedUs: bytes.readDoubleLE(10),
    body: bytes.subarray(bodyAt),
  };
}

/** What went wrong, in words, or null. */
export function errorOf(body: Body): string | null {
  const error = bodyPart(body, 'error');
  return error ? Buffer.from(error).toString() : null;
}
