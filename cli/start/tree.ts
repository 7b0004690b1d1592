// The parts of the service as one table: whether each is restarted when it dies, and how long it may take to stop.
import type { Child } from '../../runtime/supervisor.ts';
import type { Service } from '../../service/service.ts';
import type { HttpListeners } from './listeners.ts';

/**
 * How long the ledger may take after the grace period, for its last commits and for closing the store. At the end of the grace period the
 * ledger itself stops the jobs that are still running.
 */
const closeMsMax = 10_000;

/** The parts, which are started from top to bottom and stopped from bottom to top. */
export function tree(service: Service, listeners: HttpListeners, graceMs: number): readonly Child[] {
  const drainMsMax = graceMs + closeMsMax;
  return [
    // The hub runs on the main thread and ends with it, so it is never restarted.
    { name: 'hub', start: service.startHub, restarts: false, stopMsMax: 1_000 },
    // The ledger's thread is never terminated, because a thread that ends inside a write transaction would hang the
    // process.
    { name: 'ledger', start: service.startLedger, restarts: false, stopMsMax: drainMsMax },
    // The reads thread only reads. If it dies, long reads get 503 until it is up again, and everything else continues.
    { name: 'reads', start: service.startReads, restarts: true, stopMsMax: 1_000 },
    // The indexer's thread is never terminated. It ends by itself after its transaction.
    { name: 'indexer', start: service.startIndexer, restarts: true, stopMsMax: 5_000 },
    // The HTTP servers stop first, and their stop drains the service. GET requests are answered until the ledger has
    // ended the running jobs and the hosts. Only then do the servers stop accepting connections.
    { name: 'http', start: listeners.start, restarts: false, stopMsMax: drainMsMax },
  ];
}
