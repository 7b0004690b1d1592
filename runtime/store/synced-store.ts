// A store without a commit log. Each of its commits waits for the disk.
import { WriteBatch } from './batch.ts';
import { asStoreError } from './fault.ts';
import { type Lmdb, readerOf, write } from './lmdb.ts';
import { CommitRoom } from './room.ts';
import { type Store, StoreFault, StoreFull } from './store.ts';

/** Makes a store on these databases, which no other process may write. After a disk fault, the store refuses all further commits. */
export function syncedStore<T extends string>(lmdb: Lmdb<T>, path: string): Store<T> {
  let fault: StoreFault | null = null;
  const room = new CommitRoom(path);
  return {
    ...readerOf(lmdb),
    batch: () => new WriteBatch<T>(),
    commit(batch) {
      if (fault !== null) throw fault;
      try {
        lmdb.env.transactionSync(() => room.assertFor(write(lmdb, batch as WriteBatch<T>)));
      } catch (error) {
        const failure = error instanceof StoreFull ? error : asStoreError(error, path);
        if (failure instanceof StoreFault) fault = failure;
        throw failure;
      }
    },
  };
}
