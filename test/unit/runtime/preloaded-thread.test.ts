// Threads that load their code before they are given work.
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { ThreadKind } from '../../../runtime/preloaded-thread.ts';

const library = new URL('../../../dist/runtime/preloaded-thread.js', import.meta.url);
/** A thread that answers with its start data. */
const code = new URL(
  `data:text/javascript,${encodeURIComponent(
    `import { parentPort } from 'node:worker_threads'; import { givenData } from '${library}'; parentPort.postMessage(await givenData());`,
  )}`,
);

it('a prepared thread that is discarded ends by itself; a later start makes a new one', async () => {
  const kind = new ThreadKind('echo', code);
  kind.prepare();
  await kind.discard();
  await kind.discard();
  expect(await once(kind.start({ n: 1 }), 'message')).toEqual([{ n: 1 }]);
});

it('a prepared thread is the one that starts, and is not discarded then', async () => {
  const kind = new ThreadKind('echo', code);
  kind.prepare();
  const worker = kind.start({ n: 2 });
  await kind.discard();
  expect(await once(worker, 'message')).toEqual([{ n: 2 }]);
});
