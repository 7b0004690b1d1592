// The admin token as commands make it: shown once, and kept as its digest only.
import { createHash, randomBytes } from 'node:crypto';
import { closeWith, heldVault, type VaultPlace, withStore } from './offline.ts';

export type MintedToken = { readonly token: string; readonly digest: Uint8Array };

export function mintAdminToken(): MintedToken {
  const token = `hga_${randomBytes(32).toString('base64url')}`;
  return { token, digest: createHash('sha256').update(token).digest() };
}

/** A lost token cannot be read back: a new one takes its place, which is returned. */
export function resetAdminToken(place: VaultPlace): string {
  return withStore(place, store => {
    const { vault } = heldVault(store, place.keys);
    const { token, digest } = mintAdminToken();
    const batch = store.batch();
    vault.rotateAdmin(digest);
    closeWith(vault, batch, 'admin-token.reset');
    store.commit(batch);
    return token;
  });
}
