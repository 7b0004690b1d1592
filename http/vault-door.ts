// The door to the vault: what its routes, and whoever lets callers in to them, need of the rest.
import type { VaultReply, VaultRequest } from '../actors/vault/protocol.ts';
import type { Asker } from '../runtime/link.ts';

/** What the routes of the vault need of the rest. */
export interface VaultDoor {
  /** SHA-256 of the admin token, one character a byte; null: no vault is open. */
  readonly adminDigest: string | null;
  /** `presented`: the digest that let the caller in; it must still be that of the admin token when the call is handled. */
  call(presented: string, request: VaultRequest, asker: Asker): Promise<VaultReply>;
  /** A call with the admin token is refused before it gets there. Resolves when that is audited. */
  refused(op: string, code: string): Promise<unknown>;
  /** A call without the admin token. */
  stranger(op: string): void;
}
