// FailedRecordError names the stored record that made a turn fail. If the record belongs to a run, the ledger first ends this run as failed,
// and sets the record aside only if the record makes further turns fail. Any other record is set aside at once. All other work continues
// (service/ledger/actor-lifecycle.ts).
import { hexOf } from '../runtime/bytes.ts';
import { formatId, type JobId } from '../runtime/ids.ts';
import { isStoreFault } from '../runtime/store/fault.ts';
import { StoreFull } from '../runtime/store/store.ts';

export type FailedRecord =
  /** An unfinished run. */
  | { readonly kind: 'run'; readonly id: JobId }
  /** A block of jobs, or its open record. */
  | { readonly kind: 'block'; readonly key: Uint8Array }
  /** Events of a job, or hooks for the end of a job or run, that have not started all their runs yet (pipeline/events/deferred-events.ts). */
  | { readonly kind: 'emission'; readonly key: Uint8Array };

export class FailedRecordError extends Error {
  readonly record: FailedRecord;

  constructor(record: FailedRecord, cause: unknown) {
    super(`${failedRecordText(record)}: ${(cause as Error).message}`, { cause });
    this.record = record;
  }
}

/** Returns an error that names the record. If `error` already names a record, or if the store itself failed, returns `error` unchanged. */
export function blame(record: FailedRecord, error: unknown): unknown {
  if (error instanceof FailedRecordError || error instanceof StoreFull || isStoreFault(error)) return error;
  return new FailedRecordError(record, error);
}

/** Calls `work`. If `work` throws an error, throws what `blame` returns for the record and this error. */
export function blaming<T>(record: FailedRecord, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw blame(record, error);
  }
}

export function failedRecordText(record: FailedRecord): string {
  if (record.kind === 'run') return `run ${formatId(record.id)}`;
  return `${record.kind} ${hexOf(record.key)}`;
}
