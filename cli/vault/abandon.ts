// Abandons a vault: moves its records to a directory of their own and renames its key file.
import { accessSync, constants, existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type Abandonment,
  abandonedPaths,
  abandonmentSteps,
  decideAbandonment,
  isLeftover,
  partialOf,
  vaultTables,
} from '../../actors/vault/abandoned.ts';
import { keyVariable } from '../../actors/vault/unlock-key.ts';
import { hasRecords } from '../../actors/vault/vault.ts';
import { nextKeyFile } from '../../config/key-file.ts';
import { openStore } from '../../runtime/store/ledger-store.ts';
import type { Store } from '../../runtime/store/store.ts';
import { type VaultLocation, vaultRefusal, withStore } from './offline.ts';

/** The maximum number of records that one commit copies. */
const copiedMax = 10_000;

/** The new paths of the records and of the key file. Null: there were no records, or no key file. */
type Abandoned = { readonly records: string | null; readonly keyFile: string | null };

/**
 * Abandons the vault. A crash leaves the vault either unchanged or abandoned. In the second case, the next start of the service, or the next
 * `headgate vault` command that locks the state directory, completes the remaining steps.
 */
export function abandonVault(place: VaultLocation): Abandoned {
  return withStore(place, store => {
    const steps = abandonSteps(store, place, Date.now());
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
    }
  });
}

/**
 * Abandons a vault in steps, and yields the name of each step when the step is done. A test can thereby kill the process after
 * each step.
 */
export function* abandonSteps(store: Store, place: VaultLocation, nowMs: number): Generator<string, Abandoned, void> {
  const abandonment = planned(store, place, nowMs);
  const { records, keyFile } = abandonment;
  for (const name of readdirSync(place.statePath).filter(isLeftover)) {
    rmSync(join(place.statePath, name), { recursive: true });
  }
  if (records !== null) {
    copyRecords(store, partialOf(records));
    yield 'the records are copied';
  }
  decideAbandonment(store, abandonment);
  yield 'the vault is abandoned';
  yield* abandonmentSteps(store);
  return { records, keyFile: keyFile?.to ?? null };
}

function planned(store: Store, { statePath, keys }: VaultLocation, nowMs: number): Abandonment {
  if (keys.variable !== undefined) {
    throw vaultRefusal(`unset ${keyVariable} first, here and for the service: it is the key of the vault to abandon`);
  }
  const isHere = hasRecords(store);
  const isKey = existsSync(keys.file) || existsSync(nextKeyFile(keys.file));
  if (!isHere && !isKey) throw vaultRefusal(`there is no vault in ${statePath}, and no key file ${keys.file}`);
  if (isKey) assertWritable(dirname(keys.file));
  const { name, records } = abandonedPaths(statePath, nowMs);
  const keyFile = { from: keys.file, to: join(dirname(keys.file), `${name}.key`) };
  return { atUs: nowMs * 1000, records: isHere ? records : null, keyFile: isKey ? keyFile : null, isSettled: false };
}

/**
 * Throws if files in the directory cannot be renamed. This is checked before the vault is abandoned, because the key file is renamed only
 * afterwards, and a failure would then leave the vault abandoned with its key file in place.
 */
function assertWritable(directory: string): void {
  try {
    accessSync(directory, constants.W_OK);
  } catch (error) {
    const reason = (error as Error).message;
    throw vaultRefusal(
      `the key file cannot be renamed (${reason}): make its directory writable, or move the file away`,
    );
  }
}

function copyRecords(store: Store, to: string): void {
  const copy = openStore(to);
  try {
    for (const table of vaultTables) copyTable(store, copy, table);
  } finally {
    copy.close();
  }
}

function copyTable(store: Store, copy: Store, table: (typeof vaultTables)[number]): void {
  for (let from = Buffer.alloc(0); ; ) {
    const page = Array.from(store.scan(table, { from, limit: copiedMax }), ({ key, value }) => ({
      key: Buffer.from(key),
      value: Buffer.from(value),
    }));
    const last = page.at(-1);
    if (!last) return;
    const batch = copy.batch();
    for (const { key, value } of page) batch.put(table, key, value);
    copy.commit(batch);
    // Continues at the smallest key that is greater than the last one.
    from = Buffer.concat([last.key, Buffer.alloc(1)]);
  }
}
