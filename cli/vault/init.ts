// Creates a vault: the unlock key, the keyring that this key opens, and the admin token.
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { forgetAbandonment, readAbandonment } from '../../actors/vault/abandoned.ts';
import { auditStart } from '../../actors/vault/records/audit.ts';
import { keyBytes } from '../../actors/vault/records/barrier.ts';
import type { Keyring } from '../../actors/vault/records/keyring.ts';
import { readUnlockKey, takeNextKey, writeNextKey } from '../../actors/vault/unlock-key.ts';
import { hasRecords, Vault } from '../../actors/vault/vault.ts';
import { nextKeyFile } from '../../config/key-file.ts';
import { makeDirectory } from '../../runtime/durable-file.ts';
import type { Store } from '../../runtime/store/store.ts';
import { mintAdminToken } from './admin-token.ts';
import { auditCommand, closeWith, type VaultLocation, vaultRefusal, withHeldStore, withStore } from './offline.ts';

type CreatedVault = {
  readonly adminToken: string;
  /** The file of the unlock key; null if the key is in the environment. */
  readonly keyFile: string | null;
};

/** A vault that is ready to be created: `make` creates it, `drop` discards it. */
type PreparedVault = { readonly made: CreatedVault; readonly make: () => void; readonly drop: () => void };

export function initVault(place: VaultLocation): CreatedVault {
  return withStore(place, store => {
    const { made, make } = prepare(store, place);
    make();
    return made;
  });
}

/** Creates the vault once `show` has resolved, because a vault whose admin token is unknown would be useless. */
export function showAndInit(place: VaultLocation, show: (made: CreatedVault) => Promise<void>): Promise<CreatedVault> {
  return withHeldStore(place, async store => {
    const { made, make, drop } = prepare(store, place);
    try {
      await show(made);
    } catch (error) {
      drop();
      throw error;
    }
    make();
    return made;
  });
}

/**
 * Prepares a vault. Throws a `vaultRefusal` if there is a vault already, if its key file would replace an existing file, or if the key in the
 * environment cannot be used. After a crash there is no vault, or a complete one.
 */
function prepare(store: Store, place: VaultLocation): PreparedVault {
  const { file, variable } = place.keys;
  if (hasRecords(store)) throw vaultRefusal(`${place.statePath} already has a vault`);
  const isFile = variable === undefined;
  if (isFile && existsSync(file)) {
    throw vaultRefusal(
      `${file} already exists and is not overwritten: restore the ledger that belongs to it, or run "headgate vault abandon"`,
    );
  }
  const unlockKey = isFile ? randomBytes(keyBytes) : readUnlockKey(place.keys);
  if (typeof unlockKey === 'string') throw vaultRefusal(unlockKey);
  if (isFile) {
    makeDirectory(dirname(file), 0o700);
    writeNextKey(file, unlockKey);
  }
  const { token, digest } = mintAdminToken();
  return {
    made: { adminToken: token, keyFile: isFile ? file : null },
    make() {
      const batch = store.batch();
      const vault = Vault.make(unlockKey, emptyKeyring(digest), randomBytes);
      const abandonment = readAbandonment(store);
      if (abandonment) {
        auditCommand(vault, batch, 'vault.abandon', abandonment.atUs);
        forgetAbandonment(batch);
      }
      closeWith(vault, batch, 'vault.init');
      store.commit(batch);
      if (isFile) takeNextKey(file);
    },
    drop() {
      if (isFile) rmSync(nextKeyFile(file), { force: true });
    },
  };
}

function emptyKeyring(adminDigest: Uint8Array): Keyring {
  const auditKeys = [{ from: 1, key: randomBytes(keyBytes) }];
  return { dataKey: randomBytes(keyBytes), auditKeys, adminDigest, version: 0, contents: 0, auditEnd: auditStart };
}
