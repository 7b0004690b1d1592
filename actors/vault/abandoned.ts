// The record of an abandoned vault. An operator abandons a vault whose key or records are lost for good (docs/vault.md). If a crash
// interrupts the abandonment, the next start of the service, or the next `headgate vault` command that holds the state directory,
// completes it from this record.
//
// Key in `meta`: `vault_abandoned`. Value: an Abandonment as JSON. The commit that writes the record also removes the keyring; from
// then on the vault is abandoned. The other steps follow, and are repeated until `isSettled` is true. `vault init` removes the record,
// and writes its time to the audit trail of the new vault.
import { existsSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nextKeyFile } from '../../config/key-file.ts';
import { syncDirectory } from '../../runtime/durable-file.ts';
import type { Batch, Reader, Store, Table } from '../../runtime/store/store.ts';
import { keyringKey } from './records/keyring.ts';

export type Abandonment = {
  readonly atUs: number;
  /** The directory of a separate store, to which the records are moved unchanged. Null: there were no records. */
  readonly records: string | null;
  /** The path of the key file, before and after it is renamed. Null: there was neither a key file nor the file of a pending key. */
  readonly keyFile: { readonly from: string; readonly to: string } | null;
  readonly isSettled: boolean;
};

const abandonedKey = Buffer.from('vault_abandoned');
export const vaultTables: readonly Table[] = ['vault', 'vault_principals', 'vault_secrets', 'vault_audit'];
/** The maximum number of records that one commit removes. */
const removedMax = 10_000;

/** The last abandonment. Null: no vault was abandoned since the last `vault init`. */
export function readAbandonment(reader: Reader): Abandonment | null {
  const bytes = reader.get('meta', abandonedKey);
  return bytes ? JSON.parse(Buffer.from(bytes).toString()) : null;
}

/** Removes the record of an abandonment. Must be called in the commit that creates a new vault. */
export function forgetAbandonment(batch: Batch): void {
  batch.remove('meta', abandonedKey);
}

/** Writes the record and removes the keyring, in one commit. `settleAbandoned` does the remaining steps. */
export function decideAbandonment(store: Store, abandonment: Abandonment): void {
  const batch = store.batch();
  batch.put('meta', abandonedKey, encode(abandonment));
  batch.remove('vault', keyringKey);
  store.commit(batch);
}

/** The path to which the vault's records are copied first. After the abandonment is decided, the directory is renamed to `records`. */
export function partialOf(records: string): string {
  // The suffix has no dot, because LMDB treats a path with a dot as the path of a file.
  return `${records}-partial`;
}

/** Completes an abandonment that is not settled, if there is one. No other process may have the store open for writing. */
export function settleAbandoned(store: Store): void {
  for (const _ of abandonmentSteps(store));
}

/** The steps of `settleAbandoned`, each with its description. After each step the process may be killed: the next call continues. */
export function* abandonmentSteps(store: Store): Generator<string, void, void> {
  const abandonment = readAbandonment(store);
  if (!abandonment || abandonment.isSettled) return;
  const { records, keyFile } = abandonment;
  if (records !== null && moved(partialOf(records), records)) yield 'the copy of the records was renamed';
  if (keyFile !== null) {
    if (moved(keyFile.from, keyFile.to)) yield 'the key file was renamed';
    if (moved(nextKeyFile(keyFile.from), nextKeyFile(keyFile.to))) yield 'the file of the pending key was renamed';
  }
  while (clearSome(store)) yield 'some records were removed from the ledger';
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
  syncDirectory(dirname(to));
  return true;
}

/** Removes at most `removedMax` records of the vault. False: no records were left. */
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

/** Whether a directory of this name was left by a copy of records that a crash interrupted. */
export function isLeftover(name: string): boolean {
  return /^vault-abandoned-[^/]+-partial$/.test(name);
}

/** The name `vault-abandoned-<time>`, and the path of the directory with this name below `statePath`. */
export function abandonedPaths(statePath: string, atMs: number): { readonly name: string; readonly records: string } {
  const time = new Date(atMs).toISOString().replaceAll(/[-:.]/g, '');
  const name = `vault-abandoned-${time}`;
  return { name, records: join(statePath, name) };
}
