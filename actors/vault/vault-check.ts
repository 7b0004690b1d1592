// Checks of the vault on disk, for the doctor and the selfcheck: whether it opens, and whether its audit trail verifies.
import { randomBytes } from 'node:crypto';
import type { Sliced } from '../../runtime/slices.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { checkAuditEnd, walkAudit } from './records/audit.ts';
import type { Unlock } from './unlock-key.ts';
import { isKeyring, type Opening, openKeyring, openVault } from './vault.ts';

export type VaultCondition =
  | Exclude<Opening, { readonly kind: 'open' }>
  /** The vault opens. `problems`: which of its records do not open or are missing. */
  | {
      readonly kind: 'open';
      readonly principals: number;
      readonly secrets: number;
      readonly problems: readonly string[];
    };

/** Opens the vault and each of its records. */
export function examineVault(reader: Reader, unlock: Unlock): VaultCondition {
  const opening = openVault(reader, unlock, randomBytes);
  if (opening.kind !== 'open') return opening;
  const { vault, problems } = opening;
  return { kind: 'open', principals: vault.principals.size, secrets: vault.secrets.size, problems };
}

/** The fault of the keyring, or of the newest `recordsMax` records of the trail. Null: there is no fault, or no vault. */
export function* checkTrail(reader: Reader, unlock: Unlock, recordsMax: number): Sliced<string | null> {
  const keyring = openKeyring(reader, unlock);
  if (!isKeyring(keyring)) return keyring;
  const wrongEnd = checkAuditEnd(reader, keyring);
  if (wrongEnd !== null) return wrongEnd;
  const current = () => {
    const now = openKeyring(reader, unlock);
    return isKeyring(now) ? now : keyring;
  };
  return yield* walkAudit(reader, current, recordsMax);
}
