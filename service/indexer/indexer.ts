// The indexer as a part of the service: starts and stops its thread.

import type { Logger } from '../../runtime/log.ts';
import type { Running } from '../../runtime/supervisor.ts';
import { indexerThread } from '../threads.ts';
import type { IndexCondition, IndexerData, IndexerNotice } from './thread.ts';

/** Resolves when it is up. `onCondition` is called whenever the condition of the index changes. */
export async function startIndexer(
  data: IndexerData,
  log: Logger,
  onCondition: (condition: IndexCondition) => void,
): Promise<Running> {
  const worker = indexerThread.start(data);
  const told = { ready: () => {}, stopped: () => {} };
  const ready = new Promise<void>(resolve => {
    told.ready = resolve;
  });
  const stopped = new Promise<void>(resolve => {
    told.stopped = resolve;
  });
  const died = new Promise<Error>(resolve => {
    worker.on('error', resolve);
    worker.on('exit', code => resolve(new Error(`the indexer thread ended with exit code ${code}`)));
  });
  worker.on('message', (notice: IndexerNotice) => {
    if (notice.kind === 'log') log[notice.level](notice.fields, notice.message);
    else if (notice.kind === 'index') onCondition(notice.condition);
    else told[notice.kind]();
  });
  void died.then(({ message }) => onCondition({ kind: 'closed', reason: message }));
  await Promise.race([ready, died.then(error => Promise.reject(error))]);
  return {
    died,
    stop: async () => {
      worker.postMessage('stop');
      await Promise.race([stopped, died]);
    },
  };
}
