// Gives a vault a new unlock key, data key and audit key. The old unlock key then no longer opens the vault.
import { randomBytes } from 'node:crypto';
import { keyBytes } from '../../actors/vault/records/barrier.ts';
import { takeNextKey, writeNextKey } from '../../actors/vault/unlock-key.ts';
import { closeWith, heldVault, type VaultLocation, withStore } from './offline.ts';

/** Throws if there is no vault, or if it does not open. */
export function assertOpens(place: VaultLocation): void {
  withStore(place, store => heldVault(store, place.keys));
}

/**
 * Gives the vault a new unlock key of 32 bytes. One commit makes the new key valid and the old one invalid. If the old key is in a file, the
 * new key is written to a file beside it before this commit. If the old key is in the environment, the caller must have saved the new key.
 */
export function rotateKey(place: VaultLocation, unlockKey: Uint8Array): void {
  const { file, variable } = place.keys;
  withStore(place, store => {
    const vault = heldVault(store, place.keys);
    if (variable === undefined) writeNextKey(file, unlockKey);
    const { auditKeys, auditEnd } = vault.keyring;
    const next = { from: auditEnd.seq + 1, key: randomBytes(keyBytes) };
    const batch = store.batch();
    const keys = { dataKey: randomBytes(keyBytes), auditKeys: [...auditKeys, next] };
    closeWith(vault.rekeyed(batch, unlockKey, keys), batch, 'key.rotate');
    store.commit(batch);
    store.checkpoint();
    if (variable === undefined) takeNextKey(file);
  });
}
