// What the service is made of, as one table: which part, on which thread, restarted how, stopped within what time.
import type { Child, Intensity } from '../../runtime/supervisor.ts';
import type { Gateway } from './gateway.ts';

/** Started from top to bottom, stopped from bottom to top. */
export function tree(gateway: Gateway): readonly Child[] {
  return [
    // What lives on the main thread dies with it, and the edge tells of that.
    { name: 'hub', thread: 'main', start: gateway.startHub, restart: 'never', stopMsMax: 1_000 },
    // Never terminated: a thread that ends inside a write transaction would hang the process. It holds job, pipeline, store.
    {
      name: 'ledger',
      thread: 'ledger',
      start: gateway.startLedger,
      restart: 'never',
      stopMsMax: gateway.graceMs + 10_000,
    },
    // It only reads: what it was asked when it died is refused, and all else goes on.
    { name: 'reads', thread: 'reads', start: gateway.startReads, restart: 'patiently', stopMsMax: 1_000 },
    // Never terminated either: it stops when its transaction is over.
    { name: 'indexer', thread: 'indexer', start: gateway.startIndexer, restart: 'always', stopMsMax: 5_000 },
    { name: 'edge', thread: 'main', start: gateway.startEdge, restart: 'never', stopMsMax: 5_000 },
  ];
}

/** Part deaths that are borne before the service gives up. */
export const intensity: Intensity = { deathsMax: 5, withinMs: 60_000 };
