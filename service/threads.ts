// The threads of the service.
import { ThreadKind } from '../runtime/preloaded-thread.ts';

/** Of the thread for reads: one that needs more ends that thread, and no other. */
const readsHeapMbMax = 512;

export const ledgerThread = new ThreadKind(new URL('./ledger/thread.js', import.meta.url));
export const readsThread = new ThreadKind(new URL('./reads/thread.js', import.meta.url), {
  maxOldGenerationSizeMb: readsHeapMbMax,
});
export const indexerThread = new ThreadKind(new URL('./indexer/thread.js', import.meta.url));

/** They load their code while the rest of the service does, and the configuration is read. */
export function prepareThreads(): void {
  ledgerThread.prepare();
  readsThread.prepare();
  indexerThread.prepare();
}
