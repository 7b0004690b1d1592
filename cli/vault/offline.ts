// Opens the vault of a stopped service: locks the state directory, and completes changes that a crash interrupted.
import { randomBytes } from 'node:crypto';
import { settleAbandoned } from '../../actors/vault/abandoned.ts';
import { damageRemedy, type KeySource, keyVariable, readUnlock, settleKeys } from '../../actors/vault/unlock-key.ts';
import { openVault, type Vault } from '../../actors/vault/vault.ts';
import type { Config } from '../../config/config.ts';
import { assertUser, type LedgerStore, openStore } from '../../runtime/store/ledger-store.ts';
import type { Batch } from '../../runtime/store/store.ts';
import { exitStatus } from '../exit-status.ts';
import { type CommandFailure, failure } from '../failure.ts';

/** The state directory of a vault, and the source of its unlock key. */
export type VaultLocation = { readonly statePath: string; readonly keys: KeySource };

/** The failure of a command that cannot be carried out. `why` is its message. */
export function vaultRefusal(why: string): CommandFailure {
  return failure(exitStatus.failed, 'vault_refused', 'Not done', why);
}

export function placeOf(config: Config, env: NodeJS.ProcessEnv): VaultLocation {
  return { statePath: config.state.path, keys: { file: config.vault.keyFile, variable: env[keyVariable] } };
}

/** Runs `work` on the locked store. If another process has locked the state directory, throws StoreHeld, which has the id of that process. */
export function withStore<T>(place: VaultLocation, work: (store: LedgerStore) => T): T {
  const store = holdStore(place);
  try {
    return work(store);
  } finally {
    store.close();
  }
}

/** Does the same as `withStore`, for asynchronous work. */
export async function withHeldStore<T>(place: VaultLocation, work: (store: LedgerStore) => Promise<T>): Promise<T> {
  const store = holdStore(place);
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

/** Locks the state directory, and completes interrupted changes. An older state keeps its format: the next start upgrades it, after a backup. */
function holdStore({ statePath, keys }: VaultLocation): LedgerStore {
  assertUser(statePath);
  const store = openStore(statePath, { upgrades: false });
  try {
    settleAbandoned(store);
    settleKeys(store, keys);
    return store;
  } catch (error) {
    store.close();
    throw error;
  }
}

export const noVault = 'there is no vault: create one with "headgate vault init"';

/** Opens the vault of the store. Throws a `vaultRefusal` if there is no vault, or if the vault or one of its records does not open. */
export function heldVault(store: LedgerStore, keys: KeySource): Vault {
  const opening = openVault(store, readUnlock(keys), randomBytes);
  if (opening.kind === 'absent') throw vaultRefusal(noVault);
  if (opening.kind === 'sealed') throw vaultRefusal(`the vault does not open: ${opening.problems.join('; ')}`);
  const { vault, problems } = opening;
  if (problems.length > 0) {
    throw vaultRefusal(`records of the vault do not open: ${problems.join('; ')}; ${damageRemedy}`);
  }
  return vault;
}

/** Adds an audit record of the command to the batch, and the keyring and the table of contents of the vault if they changed. */
export function closeWith(vault: Vault, batch: Batch, op: string): void {
  auditCommand(vault, batch, op, Date.now() * 1000);
  vault.close(batch);
}

export function auditCommand(vault: Vault, batch: Batch, op: string, at: number): void {
  vault.audit(batch, { at, actor: 'command', op, principal: null, secret: null, outcome: 'ok', code: null });
}
