// The vault as it is on disk, looked at by whoever has the unlock key: whether it opens, and whether its audit trail is whole.
import { randomBytes } from 'node:crypto';
import type { Sliced } from '../../runtime/slices.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { checkAuditEnd, walkAudit } from './records/audit.ts';
import { type Keyring, readWrapped, unwrapKeyring } from './records/keyring.ts';
import type { Unlock } from './unlock-key.ts';
import { missingVault, openVault, wrongKey } from './vault.ts';

export type VaultCondition =
  | { readonly kind: 'absent' }
  | { readonly kind: 'sealed'; readonly problems: readonly string[] }
  /** `problems`: records that do not open. */
  | {
      readonly kind: 'open';
      readonly principals: number;
      readonly secrets: number;
      readonly problems: readonly string[];
    };

/** Opens every record. */
export function examineVault(reader: Reader, unlock: Unlock): VaultCondition {
  const opening = openVault(reader, unlock, randomBytes);
  if (opening.kind !== 'open') return opening;
  const { vault, problems } = opening;
  return { kind: 'open', principals: vault.principals.size, secrets: vault.secrets.size, problems };
}

/** What is wrong with the newest so many records of the trail; null: nothing, or there is no vault. */
export function* checkTrail(reader: Reader, { key, file }: Unlock, recordsMax: number): Sliced<string | null> {
  const wrapped = readWrapped(reader);
  if (!wrapped) return missingVault(reader, file);
  if (typeof key === 'string') return key;
  const keyring = unwrapKeyring(key, wrapped);
  if (!keyring) return wrongKey;
  const wrongEnd = checkAuditEnd(reader, keyring);
  if (wrongEnd !== null) return wrongEnd;
  const now = (): Keyring => unwrapKeyring(key, readWrapped(reader) ?? wrapped) ?? keyring;
  const { broken } = yield* walkAudit(reader, now, () => {}, recordsMax);
  return broken;
}
