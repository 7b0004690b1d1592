// The id of a store. A backup has the id of its store; a state that is restored from a backup gets a new id.
import { randomUUID } from 'node:crypto';
import type { Reader, Store } from './store.ts';

const key = Buffer.from('store_id');

export const storeIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The id of the store. Null: it has none yet, because no service has run on it, or only services of versions without store ids. */
export function storeIdIn(reader: Pick<Reader, 'get'>): string | null {
  const id = reader.get('meta', key);
  return id ? Buffer.from(id).toString() : null;
}

export function renewStoreId(store: Store): string {
  const id = randomUUID();
  const batch = store.batch();
  batch.put('meta', key, Buffer.from(id));
  store.commit(batch);
  return id;
}

export function ensureStoreId(store: Store): string {
  return storeIdIn(store) ?? renewStoreId(store);
}
