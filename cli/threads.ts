// The threads of the service.
import { ThreadKind } from '../runtime/spare-thread.ts';

export const ledgerThread = new ThreadKind(new URL('../actors/ledger.js', import.meta.url));
export const indexerThread = new ThreadKind(new URL('../actors/index/indexer.js', import.meta.url));

/** They load their code while the rest of the service does, and the configuration is read. */
export function prepareThreads(): void {
  ledgerThread.prepare();
  indexerThread.prepare();
}
