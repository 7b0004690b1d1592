// Starts a thread of the service, and handles its reports.
import type { Worker } from 'node:worker_threads';
import { type Link, openLink } from '../runtime/link.ts';
import type { Logger } from '../runtime/log.ts';
import type { ThreadKind } from '../runtime/preloaded-thread.ts';
import type { ThreadReport } from './thread-report.ts';

/** The reason why the service cannot start or continue. `exitStatus`: the exit status that the process must have. */
export class ServiceFault extends Error {
  readonly exitStatus: number;
  constructor(message: string, exitStatus: number) {
    super(message);
    this.exitStatus = exitStatus;
  }
}

export type StartedThread = { readonly worker: Worker; readonly link: Link; readonly died: Promise<Error> };

/** Starts a thread. Resolves when it has reported that it is ready; rejects if it dies first. `onMessage` gets its messages, except reports. */
export function startThread(
  kind: ThreadKind,
  data: object,
  log: Logger,
  onMessage: (actor: string, message: unknown, link: Link) => void,
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
      onMessage(actor, message) {
        const report = message as ThreadReport;
        if (actor !== 'supervisor') onMessage(actor, message, link);
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
