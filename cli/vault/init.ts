// Makes a vault: the unlock key, the keyring under it, and the admin token.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { auditStart } from '../../actors/vault/audit.ts';
import { keyBytes } from '../../actors/vault/barrier.ts';
import type { Keyring } from '../../actors/vault/keyring.ts';
import { readUnlockKey, takeNextKey, writeNextKey } from '../../actors/vault/unlock-key.ts';
import { hasRemains, Vault } from '../../actors/vault/vault.ts';
import { mintAdminToken } from './admin-token.ts';
import { closeWith, type VaultPlace, VaultRefused, withStore } from './offline.ts';

export type MadeVault = {
  readonly adminToken: string;
  /** Null: the key is in the environment. */
  readonly keyFile: string | null;
};

/** Refuses to overwrite a vault or a key file. A crash leaves no vault, or a whole one. */
export function initVault(place: VaultPlace): MadeVault {
  const { file, variable } = place.keys;
  return withStore(place, store => {
    if (hasRemains(store)) throw new VaultRefused(`${place.statePath} has a vault already`);
    const isFile = variable === undefined;
    if (isFile && existsSync(file)) throw new VaultRefused(`${file} exists already: it is not overwritten`);
    const unlockKey = isFile ? randomBytes(keyBytes) : readUnlockKey(place.keys);
    if (typeof unlockKey === 'string') throw new VaultRefused(unlockKey);
    if (isFile) {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeNextKey(file, unlockKey);
    }
    const { token, digest } = mintAdminToken();
    const batch = store.batch();
    closeWith(Vault.make(unlockKey, emptyKeyring(digest), randomBytes), batch, 'vault.init');
    store.commit(batch);
    if (isFile) takeNextKey(file);
    return { adminToken: token, keyFile: isFile ? file : null };
  });
}

function emptyKeyring(adminDigest: Uint8Array): Keyring {
  const auditKeys = [{ from: 1, key: randomBytes(keyBytes) }];
  return { dataKey: randomBytes(keyBytes), auditKeys, adminDigest, version: 0, contents: 0, auditEnd: auditStart };
}
