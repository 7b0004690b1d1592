// Rotates the unlock key and the data key of a vault. The old unlock key is useless afterwards.
import { randomBytes } from 'node:crypto';
import { keyBytes } from '../../actors/vault/records/barrier.ts';
import { takeNextKey, writeNextKey } from '../../actors/vault/unlock-key.ts';
import { closeWith, heldVault, type VaultPlace, withStore } from './offline.ts';

/** Throws if there is nothing to rotate. */
export function assertOpens(place: VaultPlace): void {
  withStore(place, store => heldVault(store, place.keys));
}

/**
 * One commit decides which of the two keys opens the vault, never both, and the new one (32 bytes) is kept before it: in a file
 * beside the old one; where keys are given in the environment, by the caller.
 */
export function rotateKey(place: VaultPlace, unlockKey: Uint8Array): void {
  const { file, variable } = place.keys;
  withStore(place, store => {
    const { vault } = heldVault(store, place.keys);
    if (variable === undefined) writeNextKey(file, unlockKey);
    const { auditKeys, auditEnd } = vault.keyring;
    const next = { from: auditEnd.seq + 1, key: randomBytes(keyBytes) };
    const batch = store.batch();
    const keys = { dataKey: randomBytes(keyBytes), auditKeys: [...auditKeys, next] };
    closeWith(vault.rekeyed(batch, unlockKey, keys), batch, 'key.rotate');
    store.commit(batch);
    if (variable === undefined) takeNextKey(file);
  });
}
