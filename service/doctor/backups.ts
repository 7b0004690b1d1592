// The doctor's check of scheduled backups: they are written, the newest backup is not too old, and the commit log is archived.
import { isRestoreHold, type Pause } from '../../actors/job/records/pause.ts';
import type { Config } from '../../config/config.ts';
import type { BackupCondition } from '../backup/backups.ts';
import { type CheckResult, failed, passed } from './result.ts';

/** The check fails if the newest backup and the start of the service are both longer ago than this many times `backups.every`. */
export const overdueFactor = 2;

export function checkBackups(
  { everyMs, into }: Config['backups'],
  { newestMs, failure, archiveFailure, startedAtMs }: BackupCondition,
  pauses: readonly Pause[],
  nowMs: number,
): CheckResult {
  const newest =
    newestMs === null ? `none in ${into}` : `the newest in ${into} is from ${new Date(newestMs).toISOString()}`;
  if (everyMs === null) return passed(`not scheduled; ${newest}`);
  if (failure !== null) return failed(`the last one was not written: ${failure}; ${newest}`);
  if (archiveFailure !== null) return failed(`the commit log is not archived: ${archiveFailure}; ${newest}`);
  if (pauses.some(isRestoreHold)) return passed(`none is written until the restored state is resumed; ${newest}`);
  const sinceMs = Math.max(newestMs ?? 0, startedAtMs);
  return nowMs - sinceMs > overdueFactor * everyMs ? failed(`overdue; ${newest}`) : passed(newest);
}
