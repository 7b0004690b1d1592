// Finds the jobs that may have failed with a fingerprint: jobs with this fingerprint in the index, and all failed jobs that the index lacks.
import type { JobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import type { StoredAttempt } from '../../job/records/attempt.ts';
import { failureStatuses } from '../../job/records/job.ts';
import { entriesOf, readUs, usKey } from '../../job/records/journal.ts';
import type { CommandName } from '../../job/records/name-table.ts';
import { keyText } from '../../job/records/open.ts';
import {
  decodeGroup,
  type FailureGroup,
  failurePages,
  failureRecordBytes,
  failuresName,
  fingerprintIn,
  groupKey,
  isFailure,
  readFailurePlace,
} from '../records/failures.ts';
import { entryFinder, positionOf } from '../records/position.ts';

/** The maximum number of commits that one scan reads. */
const commitsPerStep = 256;
/** The maximum number of pages that one scan reads. */
const pagesPerStep = 8;

/** Whether a job failed with this attempt and with this fingerprint. */
export function hasFingerprint(
  fingerprint: string,
  attempt: StoredAttempt,
  owner: Pick<CommandName, 'plugin' | 'command'>,
): boolean {
  const hasFailed = attempt.final && failureStatuses.some(status => status === attempt.status);
  return hasFailed && fingerprintIn(attempt, owner) === fingerprint;
}

/** The group with this fingerprint. Undefined: the index has no such group. */
export function findFailure(index: Reader<IndexTable>, fingerprint: string): FailureGroup | undefined {
  const key = groupKey(fingerprint);
  const value = index.get('failures', key);
  return value && decodeGroup(key, value);
}

/**
 * The jobs that may have failed with this fingerprint, in descending order of their ids. They include every failed job that the index
 * lacks. Null: there may be more than `namedMax` jobs.
 */
export function* jobsOfFailure(
  ledger: Reader,
  index: Reader<IndexTable>,
  fingerprint: string,
  namedMax: number,
): Sliced<readonly JobId[] | null> {
  const found = new Set<string>();
  yield* findUnindexed(ledger, index, found, namedMax);
  const hash = groupKey(fingerprint);
  const entryOf = entryFinder(ledger);
  for (let to: Buffer | null = null; found.size <= namedMax; ) {
    const pages = failurePages(index, { ...(to && { to }), reverse: true, limit: pagesPerStep });
    for (const { page } of pages) {
      for (let at = 0; at < page.length && found.size <= namedMax; at += failureRecordBytes) {
        if (page.compare(hash, 0, hash.length, at + failureRecordBytes - hash.length, at + failureRecordBytes) !== 0)
          continue;
        const entry = entryOf(readFailurePlace(page, at));
        if (entry) found.add(keyText(entry.id));
      }
    }
    if (pages.length < pagesPerStep) break;
    to = pages.at(-1)!.key;
    yield;
  }
  if (found.size > namedMax) return null;
  return newestFirst(found);
}

/** The ids with these names (`keyText`), in descending order. */
export function newestFirst(names: ReadonlySet<string>): JobId[] {
  const sorted = [...names].sort().reverse();
  return sorted.map(name => Buffer.from(name, 'latin1'));
}

/** Adds to `found` the failed jobs that the index lacks, until `found` has more than `namedMax` jobs. */
function* findUnindexed(ledger: Reader, index: Reader<IndexTable>, found: Set<string>, namedMax: number): Sliced<void> {
  const position = positionOf(index, failuresName);
  for (let fromUs = position.atUs; found.size <= namedMax; ) {
    const range = { from: usKey(fromUs), limit: commitsPerStep };
    const commits = Array.from(ledger.scan('journal', range), ({ key, value }) => [readUs(key), value] as const);
    for (const [atUs, value] of commits) {
      for (const entry of entriesOf(atUs, value)) {
        const isIndexed = atUs === position.atUs && entry.place < position.place;
        if (!isIndexed && isFailure(entry)) found.add(keyText(entry.id));
      }
    }
    if (commits.length < commitsPerStep) return;
    fromUs = commits.at(-1)![0] + 1;
    yield;
  }
}
