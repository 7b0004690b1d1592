// An error that names the record which made a turn fail. Only that record is dealt with; everything else continues.
import { formatId, type JobId } from '../runtime/ids.ts';
import { isStoreFault } from '../runtime/store/fault.ts';
import { StoreFull } from '../runtime/store/store.ts';

export type FailedRecord =
  /** An unfinished run. */
  | { readonly kind: 'run'; readonly id: JobId }
  /** A block of jobs, or the record of which of them are open. */
  | { readonly kind: 'block'; readonly key: Uint8Array }
  /** Waiting events of a job. */
  | { readonly kind: 'emission'; readonly key: Uint8Array };

export class FailedRecordError extends Error {
  readonly record: FailedRecord;

  constructor(record: FailedRecord, cause: unknown) {
    super(`${failedRecordText(record)}: ${(cause as Error).message}`, { cause });
    this.record = record;
  }
}

/** Adds the record that caused the error. The innermost record counts; an error of the store itself has none. */
export function blame(record: FailedRecord, error: unknown): unknown {
  if (error instanceof FailedRecordError || error instanceof StoreFull || isStoreFault(error)) return error;
  return new FailedRecordError(record, error);
}

/** Does the work. If it throws, the error names the record. */
export function blaming<T>(record: FailedRecord, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw blame(record, error);
  }
}

export function failedRecordText(record: FailedRecord): string {
  if (record.kind === 'run') return `run ${formatId(record.id)}`;
  return `${record.kind} ${Buffer.from(record.key).toString('hex')}`;
}
