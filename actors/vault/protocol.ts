// The messages that the vault receives and sends (docs/contract.md#vault).
import type { ReplyTo, Turn } from '../../runtime/turn.ts';
import type { Principal, Secret } from './records/secret.ts';

type Named = { readonly name: string };
/**
 * A request of a caller. In `secret.set` of a known secret, an absent field leaves that part of the record unchanged. A change from
 * `manual` to `auto` always gives the secret a new value.
 */
export type VaultRequest =
  | (Named & { readonly op: 'principal.register'; readonly principalKind: string })
  | (Named & { readonly op: 'principal.revoke' | 'principal.purge' | 'principal.roll' | 'secret.revoke' })
  | (Named & {
      readonly op: 'secret.set';
      readonly value?: string;
      readonly grants?: readonly string[];
      readonly pattern?: string;
    })
  | (Named & { readonly op: 'secret.roll'; readonly value?: string })
  | { readonly op: 'list' }
  | PruneRequest;

/** An operation, by its name in the audit trail. */
export type VaultOp = VaultRequest['op'];

/** Asks for the removal of the audit records that were written before `beforeUs`, up to the record with the number `through`. */
export type PruneRequest = { readonly op: 'audit.prune'; readonly beforeUs: number; readonly through?: number };

/** Why policy.ts or audit-pruning.ts refuses a request. */
export type VaultRefusal =
  | 'orphan_grant'
  | 'reserved_entity'
  | 'revoked_secret'
  | 'revoked_principal'
  | 'unknown_secret'
  | 'unknown_principal'
  | 'missing_value'
  | 'invalid_value'
  | 'invalid_name'
  | 'invalid_kind'
  | 'invalid_pattern'
  | 'broken_trail'
  | 'export_failed';

export type VaultDone =
  | { readonly status: 'registered' | 'set' | 'rolled' | 'revoked' | 'purged' }
  | { readonly rolled: readonly string[]; readonly skipped: readonly string[] }
  | { readonly listing: VaultListing }
  /** The result of a pruning. `more`: there may be more to prune. */
  | { readonly status: 'pruned'; readonly records: number; readonly more: boolean };

/** The contents of the vault, without the values of secrets. */
export type VaultListing = {
  readonly principals: readonly Principal[];
  readonly secrets: readonly Omit<Secret, 'value'>[];
  /** The names of records that do not open or are missing. */
  readonly damaged: { readonly principals: readonly string[]; readonly secrets: readonly string[] };
};

export type VaultReply =
  | ({ readonly kind: 'done' } & VaultDone)
  /** The request was refused. `detail` never contains the value of a secret. */
  | { readonly kind: 'refused'; readonly refusal: VaultRefusal; readonly detail: string }
  /** The request was refused without a detail. `unauthorized`: the admin token was rotated after the caller was admitted. */
  | { readonly kind: 'refused'; readonly refusal: 'unauthorized' | 'vault_unavailable' | 'disk_full' | 'unavailable' };

/**
 * From the main thread: a call with the admin token. `presented`: the digest of the token, in the form of
 * `adminDigest`. The answer is a VaultReply.
 */
export type VaultCall = {
  readonly kind: 'call';
  readonly replyTo: ReplyTo;
  readonly presented: string;
  readonly request: VaultRequest;
};

/** From the main thread: a call with the admin token was refused. The actor writes this to the audit trail, and then answers. */
export type RefusedCall = {
  readonly kind: 'refused_call';
  readonly replyTo: ReplyTo;
  readonly op: string;
  readonly code: string;
};

/**
 * From the main thread, for the audit trail: the number of calls without the admin token, by operation. While the service runs, the
 * message is sent at most once a second.
 */
export type UnauthenticatedCalls = {
  readonly kind: 'unauthenticated_calls';
  readonly counts: readonly (readonly [op: string, count: number])[];
};

/** To the main thread: the status of the vault, whenever the actors start and after each commit that changes the status. */
export type VaultStatus = {
  readonly kind: 'vault_status';
  /** The vault does not open: until it does, no job is dispatched. */
  readonly isSealed: boolean;
  /** SHA-256 of the admin token, as a text with one character for each byte; null: no vault is open. */
  readonly adminDigest: string | null;
};

/** From a timer: retention may remove the audit records that were written before `beforeUs`. */
export type PruneAudit = { readonly kind: 'prune_audit'; readonly beforeUs: number };

/** From the vault actor to itself: the pruning can continue, or the file of its export could not be written. */
export type PruneEvent =
  | { readonly kind: 'prune_continue' }
  | { readonly kind: 'prune_failed'; readonly problem: string };

export type VaultMessage = VaultCall | RefusedCall | UnauthenticatedCalls | PruneAudit | PruneEvent;

/** The secrets that the jobs of a plugin instance receive at dispatch, or why the jobs fail instead. */
export type Delivery = { readonly kind: 'secrets'; readonly packed: Uint8Array } | RevokedDelivery;
/** The principal of the instance is revoked: the attempts fail with this reason, and are not retried. */
export type RevokedDelivery = { readonly kind: 'revoked'; readonly reason: string };

/** The functions of the vault that the job actor calls. */
export interface VaultDelivery {
  /** Why the jobs of this instance must wait for the vault; null: they need not wait. */
  readonly waitsFor: (instance: string) => string | null;
  readonly deliver: Deliver;
}

/**
 * Returns the delivery for these jobs (`ids`: 16 bytes each) of a plugin instance, and adds an audit record about it to the turn. Null:
 * there is no vault, or no active secret is granted to the instance. Throws if `waitsFor` gives a reason for the instance.
 */
export type Deliver = (turn: Turn, instance: string, ids: Uint8Array) => Delivery | null;
