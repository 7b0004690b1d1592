// An abandoned vault: what remembers that it is set aside, so that a crash in between is made good.
//
// meta, `vault_abandoned`: an Abandonment as JSON. The commit that writes it takes the keyring away, and so decides; the rest
// follows, and is done again by the next start or command while `isSettled` is false. The first record of a new trail takes it over.
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Batch, Reader, Store, Table } from '../../runtime/store/store.ts';
import { keyringKey } from './records/keyring.ts';
import { nextKeyFile, syncDirectory } from './unlock-key.ts';

export type Abandonment = {
  readonly atUs: number;
  /** The directory that holds the records, still sealed, as the tables of a state directory; null: there were none. */
  readonly records: string | null;
  /** The key file, and where it lies from then on; null: there was none. */
  readonly keyFile: { readonly from: string; readonly to: string } | null;
  readonly isSettled: boolean;
};

const abandonedKey = Buffer.from('vault_abandoned');
export const vaultTables: readonly Table[] = ['vault', 'vault_principals', 'vault_secrets', 'vault_audit'];
/** Records that one commit takes away. */
const removedMax = 10_000;

/** The last abandonment since the vault was made; null: none. */
export function readAbandonment(reader: Reader): Abandonment | null {
  const bytes = reader.get('meta', abandonedKey);
  return bytes ? JSON.parse(Buffer.from(bytes).toString()) : null;
}

/** In the commit that makes a new vault. */
export function forgetAbandonment(batch: Batch): void {
  batch.remove('meta', abandonedKey);
}

/** From this commit on the vault is abandoned. */
export function decideAbandonment(store: Store, abandonment: Abandonment): void {
  const batch = store.batch();
  batch.put('meta', abandonedKey, encode(abandonment));
  batch.remove('vault', keyringKey);
  store.commit(batch);
}

/** While the records are copied, their directory has this name. */
export function partialOf(records: string): string {
  // Without a dot: LMDB takes a name that has one for a file's.
  return `${records}-partial`;
}

/** Does what is left to do for a vault that was abandoned. For whoever holds the store. */
export function settleAbandoned(store: Store): void {
  for (const _ of abandonmentSteps(store));
}

/** The same, step by step; after each of them the process may die. */
export function* abandonmentSteps(store: Store): Generator<string, void, void> {
  const abandonment = readAbandonment(store);
  if (!abandonment || abandonment.isSettled) return;
  const { records, keyFile } = abandonment;
  if (records !== null && moved(partialOf(records), records)) yield 'the records are in their place';
  if (keyFile !== null) {
    if (moved(keyFile.from, keyFile.to)) yield 'the key is set aside';
    if (moved(nextKeyFile(keyFile.from), nextKeyFile(keyFile.to))) yield 'the next key is set aside';
  }
  while (clearSome(store)) yield 'some records are gone from the ledger';
  const batch = store.batch();
  batch.put('meta', abandonedKey, encode({ ...abandonment, isSettled: true }));
  store.commit(batch);
}

function encode(abandonment: Abandonment): Buffer {
  return Buffer.from(JSON.stringify(abandonment));
}

function moved(from: string, to: string): boolean {
  if (!existsSync(from)) return false;
  renameSync(from, to);
  syncDirectory(to);
  return true;
}

/** True: there was something. */
function clearSome(store: Store): boolean {
  for (const table of vaultTables) {
    const keys = Array.from(store.scan(table, { limit: removedMax }), ({ key }) => Buffer.from(key));
    if (keys.length === 0) continue;
    const batch = store.batch();
    for (const key of keys) batch.remove(table, key);
    store.commit(batch);
    return true;
  }
  return false;
}

/** Names of directories that an abandonment which was never decided has left behind. */
export function isLeftover(name: string): boolean {
  return /^vault-abandoned-[^/]+-partial$/.test(name);
}

/** `vault-abandoned-<time>`, below the state directory, and beside the key file. */
export function placesOf(statePath: string, atMs: number): { readonly name: string; readonly records: string } {
  const time = new Date(atMs).toISOString().replaceAll(/[-:.]/g, '');
  const name = `vault-abandoned-${time}`;
  return { name, records: join(statePath, name) };
}
