// Damage to the store of a gateway that is stopped.
import { join } from 'node:path';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { Gateway } from './gateway.ts';

export function tamper(gateway: Gateway, change: (batch: Batch, reader: Reader) => void): void {
  const store = openStore(join(gateway.directory, 'data'));
  const batch = store.batch();
  change(batch, store);
  store.commit(batch);
  store.close();
}
