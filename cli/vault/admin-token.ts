// Creates admin tokens of the vault. A token is shown once; only its digest is stored.
import { createHash, randomBytes } from 'node:crypto';
import { closeWith, heldVault, type VaultLocation, withHeldStore } from './offline.ts';

export function mintAdminToken(): { readonly token: string; readonly digest: Uint8Array } {
  const token = `hga_${randomBytes(32).toString('base64url')}`;
  return { token, digest: createHash('sha256').update(token).digest() };
}

/**
 * Replaces a lost admin token with a new one as soon as `show` has resolved. Until then the old token is valid. Throws a `vaultRefusal` if
 * there is no vault, or if it does not open.
 */
export function resetAdminToken(place: VaultLocation, show: (token: string) => Promise<void>): Promise<void> {
  return withHeldStore(place, async store => {
    const vault = heldVault(store, place.keys);
    const { token, digest } = mintAdminToken();
    await show(token);
    const batch = store.batch();
    vault.rotateAdmin(digest);
    closeWith(vault, batch, 'admin-token.reset');
    store.commit(batch);
  });
}
