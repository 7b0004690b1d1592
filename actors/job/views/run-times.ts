// The times of a run. The deadline of its call or of its pipeline applies, whichever is earlier.
import type { PipelineDefinition } from '../../../config/pipeline/definition.ts';
import { blockOf, type JobId } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { decodeAccepted } from '../../pipeline/records/accepted-runs.ts';
import { readCountsOf } from '../../pipeline/records/run.ts';
import type { StoredAttempt } from '../records/attempt.ts';
import { readDefinitionHash } from '../records/job.ts';
import type { JobTimes } from '../records/options.ts';

const noTimes: JobTimes = { runAtUs: null, expiresUs: null, deadlineUs: null };

/**
 * The times of the run. Null: the run has no times. `called`: the times of the run without the deadline of its pipeline. `final`: its final
 * attempt; undefined: the run is open.
 */
export function timesOfRun(
  reader: Reader,
  id: JobId,
  createdUs: number,
  called: JobTimes | null,
  final: StoredAttempt | undefined,
): JobTimes | null {
  const hash = final ? readDefinitionHash(final.stored) : openHash(reader, id);
  const packed = hash && reader.get('definitions', hash);
  const deadlineMs = packed && readable(() => unpack<PipelineDefinition>(packed).deadlineMs);
  if (!deadlineMs) return called;
  const times = called ?? noTimes;
  const deadlineUs = Math.max(times.runAtUs ?? 0, createdUs) + deadlineMs * 1000;
  return { ...times, deadlineUs: Math.min(deadlineUs, times.deadlineUs ?? Number.POSITIVE_INFINITY) };
}

/** The hash of an open run's definition. Null: the run is delayed and has none yet, or its record cannot be decoded. */
function openHash(reader: Reader, id: JobId): Uint8Array | null {
  const run = reader.get('runs', id);
  if (run) return readable(() => readCountsOf(id, run).hash) ?? null;
  const key = blockOf(id);
  const accepted = reader.get('accepted_runs', key);
  return (accepted && readable(() => decodeAccepted(key, accepted).hash)) ?? null;
}
