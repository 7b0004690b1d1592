// The indexer as a part of the service: its thread, from the start until it has let go of the index.
import type { IndexerData, IndexerNotice } from '../actors/index/indexer.ts';
import type { Logger } from '../runtime/log.ts';
import type { Running } from '../runtime/supervisor.ts';
import { indexerThread } from './threads.ts';

/** Resolves when it is up. */
export async function startIndexer(data: IndexerData, log: Logger): Promise<Running> {
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
    worker.on('exit', code => resolve(new Error(`the indexer thread ended with ${code}`)));
  });
  worker.on('message', (notice: IndexerNotice) => {
    if (notice.kind === 'log') log.error(notice.fields, notice.message);
    else told[notice.kind]();
  });
  await Promise.race([ready, died.then(error => Promise.reject(error))]);
  return {
    died,
    stop: async () => {
      worker.postMessage('stop');
      await Promise.race([stopped, died]);
    },
  };
}
