// Work on a vault while its service is stopped: the state directory is held, and keys of a change that was cut off are settled.
import { randomBytes } from 'node:crypto';
import type { KeySource } from '../../actors/vault/unlock-key.ts';
import { keyVariable, readUnlockKey, settleKeys } from '../../actors/vault/unlock-key.ts';
import { openVault, type Vault } from '../../actors/vault/vault.ts';
import type { Config } from '../../config/config.ts';
import { openStore } from '../../runtime/store/lmdb.ts';
import type { Batch, Store } from '../../runtime/store/store.ts';

/** Where a vault is, and its unlock key. */
export type VaultPlace = { readonly statePath: string; readonly keys: KeySource };

/** The command cannot do what it is asked to; the message says why. */
export class VaultRefused extends Error {}

export function placeOf(config: Config, env: NodeJS.ProcessEnv): VaultPlace {
  return { statePath: config.state.path, keys: { file: config.vault.keyFile, variable: env[keyVariable] } };
}

/** Throws StoreHeld, which names the process, beside a running service. */
export function withStore<T>({ statePath, keys }: VaultPlace, work: (store: Store) => T): T {
  const store = openStore(statePath);
  try {
    settleKeys(store, keys);
    return work(store);
  } finally {
    store.close();
  }
}

export type HeldVault = { readonly vault: Vault; readonly unlockKey: Uint8Array };

/** The vault of the store; throws VaultRefused where there is none that opens. */
export function heldVault(store: Store, keys: KeySource): HeldVault {
  const unlockKey = readUnlockKey(keys);
  const opening = openVault(store, unlockKey, randomBytes);
  if (opening.kind === 'absent') throw new VaultRefused('there is no vault: headgate vault init makes one');
  if (opening.kind === 'sealed') throw new VaultRefused(`the vault does not open: ${opening.problems.join('; ')}`);
  return { vault: opening.vault, unlockKey: unlockKey as Uint8Array };
}

/** Puts a record of the command into the trail, and the rest of the vault's change into the batch. */
export function closeWith(vault: Vault, batch: Batch, op: string): void {
  const at = Date.now() * 1000;
  vault.audit(batch, { at, actor: 'command', op, principal: null, secret: null, outcome: 'ok', code: null });
  vault.close(batch);
}
