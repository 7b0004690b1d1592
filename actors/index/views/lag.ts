// Waits for the indexer, so that a caller who has seen a job end finds the job in the index.
import { setTimeout as pause } from 'node:timers/promises';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { newestCommitUs } from '../../job/records/journal.ts';
import { positionOf } from '../records/position.ts';

/** The maximum time that a caller waits. Usually the indexer catches up sooner, but it may be far behind, or stopped. */
export const lagMsMax = 2_000;
const lookMs = 10;

/**
 * Resolves when the consumer of the journal has processed all attempts that had ended at the time of the call, or when `mayWait`
 * returns false.
 */
export async function untilTaken(
  ledger: Reader,
  index: Reader<IndexTable>,
  consumer: string,
  mayWait: () => boolean,
): Promise<void> {
  ledger.refresh();
  const newestUs = newestCommitUs(ledger) ?? -1;
  while (!hasTaken(index, consumer, newestUs) && mayWait()) await pause(lookMs);
}

function hasTaken(index: Reader<IndexTable>, consumer: string, newestUs: number): boolean {
  index.refresh();
  return positionOf(index, consumer).atUs > newestUs;
}
