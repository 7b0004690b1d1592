// The threads of the service other than the main thread.
import { ThreadKind } from '../runtime/preloaded-thread.ts';

/** The maximum heap of the reads thread, in MiB. A read that needs more ends only this thread. */
const readsHeapMbMax = 512;

export const ledgerThread = new ThreadKind('ledger', new URL('./ledger/thread.js', import.meta.url));
export const readsThread = new ThreadKind('reads', new URL('./reads/thread.js', import.meta.url), {
  maxOldGenerationSizeMb: readsHeapMbMax,
});
export const indexerThread = new ThreadKind('indexer', new URL('./indexer/thread.js', import.meta.url));

const kinds = [ledgerThread, readsThread, indexerThread];

/** Lets the threads load their code while the configuration is read. */
export function prepareThreads(): void {
  for (const kind of kinds) kind.prepare();
}

/** Ends the prepared threads that were not started. */
export async function discardThreads(): Promise<void> {
  await Promise.all(kinds.map(kind => kind.discard()));
}
