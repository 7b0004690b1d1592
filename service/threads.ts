// The threads of the service, and how each is started.
import type { Worker } from 'node:worker_threads';
import { type Link, openLink } from '../runtime/link.ts';
import type { Logger } from '../runtime/log.ts';
import { ThreadKind } from '../runtime/preloaded-thread.ts';
import type { ThreadReport } from './thread-report.ts';

/** The heap of the reads thread. A read that needs more ends this thread only. */
const readsHeapMbMax = 512;

export const ledgerThread = new ThreadKind('ledger', new URL('./ledger/thread.js', import.meta.url));
export const readsThread = new ThreadKind('reads', new URL('./reads/thread.js', import.meta.url), {
  maxOldGenerationSizeMb: readsHeapMbMax,
});
export const indexerThread = new ThreadKind('indexer', new URL('./indexer/thread.js', import.meta.url));

/** Lets the threads load their code while the configuration is read. */
export function prepareThreads(): void {
  ledgerThread.prepare();
  readsThread.prepare();
  indexerThread.prepare();
}

/** The service cannot start or continue; `exitStatus` is that of the process. */
export class ServiceFault extends Error {
  readonly exitStatus: number;
  constructor(message: string, exitStatus: number) {
    super(message);
    this.exitStatus = exitStatus;
  }
}

export type StartedThread = { readonly worker: Worker; readonly link: Link; readonly died: Promise<Error> };

/** Resolves when the thread has reported that it is ready. `onTold` takes the messages that are not reports. */
export function startThread(
  kind: ThreadKind,
  data: object,
  log: Logger,
  onTold: (actor: string, message: unknown, link: Link) => void,
): Promise<StartedThread> {
  const worker = kind.start(data);
  return new Promise((resolve, reject) => {
    let die!: (error: Error) => void;
    const died = new Promise<Error>(resolve => {
      die = resolve;
    });
    const link = openLink({
      port: worker as never,
      schedule: flush => setImmediate(flush),
      onTold(actor, message) {
        const report = message as ThreadReport;
        if (actor !== 'supervisor') onTold(actor, message, link);
        else if (report.kind === 'ready') resolve({ worker, link, died });
        else if (report.kind === 'log') log[report.level](report.fields, report.message);
        else die(new ServiceFault(report.message, report.exitStatus));
      },
    });
    worker.on('error', die);
    worker.on('exit', code => die(new Error(`the ${kind.name} thread ended with exit code ${code}`)));
    void died.then(error => {
      link.fail(error);
      reject(error);
    });
  });
}
