// Waiting for the indexer: who has seen a job end finds it in what the index makes of the journal.
import { setTimeout as pause } from 'node:timers/promises';
import type { IndexTable, Reader } from '../../runtime/store/store.ts';
import { readUs, usKey } from '../job/journal.ts';
import { positionOf } from './position.ts';

/** Some looks of the indexer at the journal; it may be far behind, or stand still. */
export const lagMsMax = 2_000;
const lookMs = 10;

/** Resolves when a consumer has taken all that had ended at the call, or has not within `msMax`. */
export async function untilTaken(
  ledger: Reader,
  index: Reader<IndexTable>,
  consumer: string,
  msMax = lagMsMax,
): Promise<void> {
  const endMs = performance.now() + msMax;
  const newestUs = newestOf(ledger);
  while (!hasTaken(index, consumer, newestUs) && performance.now() < endMs) await pause(lookMs);
}

/** The newest commit of the journal; -1 where it has none. */
function newestOf(ledger: Reader): number {
  ledger.refresh();
  const [newest] = [...ledger.scan('journal', { to: usKey(Number.MAX_SAFE_INTEGER), reverse: true, limit: 1 })];
  return newest ? readUs(newest.key) : -1;
}

function hasTaken(index: Reader<IndexTable>, consumer: string, newestUs: number): boolean {
  index.refresh();
  return positionOf(index, consumer).atUs > newestUs;
}
