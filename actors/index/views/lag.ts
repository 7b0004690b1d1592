// Waiting for the indexer: who has seen a job end finds it in what the index makes of the journal.
import { setTimeout as pause } from 'node:timers/promises';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { newestCommitUs } from '../../job/records/journal.ts';
import { positionOf } from '../records/position.ts';

/** Some looks of the indexer at the journal; it may be far behind, or stand still. */
export const lagMsMax = 2_000;
const lookMs = 10;

/** Resolves when a consumer has taken all that had ended at the call, or has not and may be waited for no longer. */
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
