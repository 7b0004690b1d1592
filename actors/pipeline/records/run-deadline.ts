// The table of deadlines: when open runs, or their phases, are stopped. Each entry belongs to an open run, whose record contains the same
// deadline. An entry is removed when it is due, or when the main part or phase that it limits has ended.
import { type JobId, jobIdBytes } from '../../../runtime/ids.ts';

/** `deadline`: the deadline of the run. `call`: the timeout of the step that called the run. `phase`: the time limit of the current phase. */
const deadlineKinds = ['deadline', 'call', 'phase'] as const;
export type DeadlineKind = (typeof deadlineKinds)[number];
export type RunDeadline = readonly [us: number, kind: DeadlineKind];

const keyBytes = 8 + jobIdBytes + 1;

/** The key: time in µs (8), run id (16), kind (1). */
export function runDeadlineKey(run: JobId, [us, kind]: RunDeadline): Uint8Array {
  const key = Buffer.allocUnsafe(keyBytes);
  key.writeBigUInt64BE(BigInt(us));
  key.set(run, 8);
  key[keyBytes - 1] = deadlineKinds.indexOf(kind);
  return key;
}

/** Null: the key is unusable. */
export function readRunDeadlineKey(key: Uint8Array): { readonly run: JobId; readonly deadline: RunDeadline } | null {
  const bytes = Buffer.from(key);
  const kind = deadlineKinds[bytes[keyBytes - 1] ?? -1];
  if (bytes.length !== keyBytes || kind === undefined) return null;
  return { run: bytes.subarray(8, 8 + jobIdBytes), deadline: [Number(bytes.readBigUInt64BE()), kind] };
}

/** The range of all entries up to this time, inclusive. */
export function runDeadlinesUpTo(us: number): { readonly to: Uint8Array } {
  const to = Buffer.allocUnsafe(8);
  to.writeBigUInt64BE(BigInt(us + 1));
  return { to };
}
