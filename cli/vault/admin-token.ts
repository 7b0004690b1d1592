// The admin token as commands make it: shown once, and kept as its digest only.
import { createHash, randomBytes } from 'node:crypto';
import { closeWith, heldVault, type VaultPlace, withHeldStore } from './offline.ts';

export type MintedToken = { readonly token: string; readonly digest: Uint8Array };

export function mintAdminToken(): MintedToken {
  const token = `hga_${randomBytes(32).toString('base64url')}`;
  return { token, digest: createHash('sha256').update(token).digest() };
}

/** A lost token cannot be read back: a new one takes its place once `show` has resolved. Till then the old one is in force. */
export function resetAdminToken(place: VaultPlace, show: (token: string) => Promise<void>): Promise<void> {
  return withHeldStore(place, async store => {
    const { vault } = heldVault(store, place.keys);
    const { token, digest } = mintAdminToken();
    await show(token);
    const batch = store.batch();
    vault.rotateAdmin(digest);
    closeWith(vault, batch, 'admin-token.reset');
    store.commit(batch);
  });
}
