// The parts of the service as one table: whether each is restarted when it dies, and how long it may take to stop.
import type { Child } from '../../runtime/supervisor.ts';
import type { Service } from '../../service/service.ts';
import type { HttpListeners } from './listeners.ts';

/** The ledger itself ends running jobs after the grace. This is the time for its last commits and for closing the store. */
const closeMsMax = 10_000;

/** Started from top to bottom, stopped from bottom to top. */
export function tree(service: Service, listeners: HttpListeners, graceMs: number): readonly Child[] {
  const drainMsMax = graceMs + closeMsMax;
  return [
    // The hub runs on the main thread and ends with it: there is nothing to restart.
    { name: 'hub', start: service.startHub, restarts: false, stopMsMax: 1_000 },
    // Never terminated: a thread that ends inside a write transaction would hang the process. The job, pipeline and vault actors and the
    // store run on it.
    { name: 'ledger', start: service.startLedger, restarts: false, stopMsMax: drainMsMax },
    // It only reads. If it dies, reads get 503 until it is up again, and everything else continues.
    { name: 'reads', start: service.startReads, restarts: true, stopMsMax: 1_000 },
    // Never terminated either: it stops after its transaction.
    { name: 'indexer', start: service.startIndexer, restarts: true, stopMsMax: 5_000 },
    // Stops first, and its stop drains the service: reads are answered until running jobs have finished and the ledger is closed; then
    // it stops listening.
    { name: 'http', start: listeners.start, restarts: false, stopMsMax: drainMsMax },
  ];
}
