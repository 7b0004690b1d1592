// Puts a vault under a new unlock key and a new data key; the old unlock key opens nothing afterwards.
import { randomBytes } from 'node:crypto';
import { keyBytes } from '../../actors/vault/barrier.ts';
import { takeNextKey, writeNextKey } from '../../actors/vault/unlock-key.ts';
import { closeWith, heldVault, type VaultPlace, withStore } from './offline.ts';

/**
 * One commit decides which of the two keys opens the vault, and the new one is kept before it: in a file beside the old one, or
 * with whoever gives keys in the environment, by `show` (hex). `showing` that comes before a crash may be of no use: one of
 * the two keys opens the vault, never both.
 */
export function rotateKey(place: VaultPlace, show: (newKey: string) => void): void {
  const { file, variable } = place.keys;
  withStore(place, store => {
    const { vault } = heldVault(store, place.keys);
    const unlockKey = randomBytes(keyBytes);
    if (variable === undefined) writeNextKey(file, unlockKey);
    else show(unlockKey.toString('hex'));
    const { auditKeys, auditEnd } = vault.keyring;
    const next = { from: auditEnd.seq + 1, key: randomBytes(keyBytes) };
    const batch = store.batch();
    const keys = { dataKey: randomBytes(keyBytes), auditKeys: [...auditKeys, next] };
    closeWith(vault.rekeyed(batch, unlockKey, keys), batch, 'key.rotate');
    store.commit(batch);
    if (variable === undefined) takeNextKey(file);
  });
}
