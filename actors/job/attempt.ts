// How one attempt of a job ended, as it is stored: a short head, then the response's parts just as the host sent them.
//
//   status (1) | final (1) | started (8, µs) | completed (8, µs) | body, unless it lies apart
import { copyBytes } from '../../runtime/bytes.ts';
import { type Body, bodyPart } from '../../runtime/host/outcome.ts';
import { statuses, type TerminalStatus } from './record.ts';

/** Where the body begins in a record: so long is the head. A record that is no longer has its body elsewhere; none is empty. */
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
  writeHead(bytes, at, attempt);
  copyBytes(bytes, at + bodyAt, attempt.body);
}

export function writeHead(bytes: Buffer, at: number, attempt: Attempt): void {
  bytes[at] = codes.get(attempt.status)!;
  bytes[at + 1] = attempt.final ? 1 : 0;
  bytes.writeDoubleLE(attempt.startedUs, at + 2);
  bytes.writeDoubleLE(attempt.completedUs, at + 10);
}

/** An attempt as it was read; its body is looked for when it is asked for, in the transaction of that moment. */
export class StoredAttempt implements Attempt {
  readonly status: TerminalStatus;
  readonly final: boolean;
  readonly startedUs: number;
  readonly completedUs: number;
  readonly #body: () => Body;

  constructor(record: Buffer, body: () => Body) {
    this.status = statuses[record[0]!] as TerminalStatus;
    this.final = record[1] === 1;
    this.startedUs = record.readDoubleLE(2);
    this.completedUs = record.readDoubleLE(10);
    this.#body = body;
  }

  get body(): Body {
    return this.#body();
  }
}

/** What went wrong, in words, or null. */
export function errorOf(body: Body): string | null {
  const error = bodyPart(body, 'error');
  return error ? Buffer.from(error).toString() : null;
}
