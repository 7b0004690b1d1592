// The vault as it is on disk, looked at by whoever has the unlock key: whether it opens, and whether its audit trail is whole.
import { randomBytes } from 'node:crypto';
import type { Sliced } from '../../runtime/slices.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { checkAuditEnd, walkAudit } from './audit.ts';
import { readWrapped, unwrapKeyring } from './keyring.ts';
import { hasRemains, keyringMissing, openVault } from './vault.ts';

export type VaultCondition =
  | { readonly kind: 'absent' }
  | { readonly kind: 'sealed'; readonly problems: readonly string[] }
  | { readonly kind: 'open'; readonly principals: number; readonly secrets: number };

/** Opens every record. `unlockKey`: its bytes, or why there are none. */
export function examineVault(reader: Reader, unlockKey: Uint8Array | string): VaultCondition {
  const opening = openVault(reader, unlockKey, randomBytes);
  if (opening.kind !== 'open') return opening;
  const { principals, secrets } = opening.vault;
  return { kind: 'open', principals: principals.size, secrets: secrets.size };
}

/** What is wrong with the newest so many records of the trail; null: nothing, or there is no vault. */
export function* checkTrail(reader: Reader, unlockKey: Uint8Array | string, recordsMax: number): Sliced<string | null> {
  const wrapped = readWrapped(reader);
  if (!wrapped) return hasRemains(reader) ? keyringMissing : null;
  if (typeof unlockKey === 'string') return unlockKey;
  const keyring = unwrapKeyring(unlockKey, wrapped);
  if (!keyring) return 'vault: the keyring does not open with this unlock key';
  const wrongEnd = checkAuditEnd(reader, keyring);
  if (wrongEnd !== null) return wrongEnd;
  const { broken } = yield* walkAudit(reader, keyring, () => {}, recordsMax);
  return broken;
}
