// The messages that the vault receives and sends (docs/contract.md#vault).
import type { ReplyTo, Turn } from '../../runtime/turn.ts';
import type { Principal, Secret } from './records/secret.ts';

/** What is asked for, by the name that the audit trail has for it. */
export const vaultOps = [
  'principal.register',
  'principal.revoke',
  'principal.purge',
  'principal.roll',
  'secret.set',
  'secret.roll',
  'secret.revoke',
  'list',
  'audit.prune',
] as const;
export type VaultOp = (typeof vaultOps)[number];

type Named = { readonly name: string };
/** A field that is absent is left as it is. */
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

/** Records of the trail from before this time go, the one of this number being the last of them. */
export type PruneRequest = { readonly op: 'audit.prune'; readonly beforeUs: number; readonly through?: number };

export const vaultRefusals = [
  'orphan_grant',
  'reserved_entity',
  'revoked_secret',
  'revoked_principal',
  'unknown_secret',
  'unknown_principal',
  'missing_value',
  'invalid_value',
  'invalid_name',
  'invalid_kind',
  'invalid_pattern',
  'broken_trail',
  'export_failed',
] as const;
/** Why the rules of the vault say no. */
export type VaultRefusal = (typeof vaultRefusals)[number];

export type VaultDone =
  | { readonly status: 'registered' | 'set' | 'rolled' | 'revoked' | 'purged' }
  | { readonly rolled: readonly string[]; readonly skipped: readonly string[] }
  | { readonly listing: Listing }
  /** `more`: there may be more to prune. */
  | { readonly status: 'pruned'; readonly records: number; readonly more: boolean };

/** All that the vault holds, without the values. */
export type Listing = {
  readonly principals: readonly Principal[];
  readonly secrets: readonly Omit<Secret, 'value'>[];
  /** Names whose records do not open. */
  readonly damaged: { readonly principals: readonly string[]; readonly secrets: readonly string[] };
};

export type VaultReply =
  | ({ readonly kind: 'done' } & VaultDone)
  /** `detail` never has a value in it. */
  | { readonly kind: 'refused'; readonly refusal: VaultRefusal; readonly detail: string }
  /** `unauthorized`: the admin token was rotated meanwhile. */
  | { readonly kind: 'refused'; readonly refusal: 'unauthorized' | 'vault_unavailable' | 'disk_full' | 'unavailable' };

/** From the edge: a call with the admin token, whose SHA-256 is `presented`. Asked; answered with a VaultReply. */
export type VaultCall = {
  readonly kind: 'call';
  readonly replyTo: ReplyTo;
  readonly presented: string;
  readonly request: VaultRequest;
};

/** From the edge: a call with the admin token that it refused itself, for the audit. Asked; answered once it is on disk. */
export type RefusedCall = {
  readonly kind: 'refused_call';
  readonly replyTo: ReplyTo;
  readonly op: string;
  readonly code: string;
};

/** From the edge, at most once a second: so many calls without the admin token, by op. */
export type StrangeCalls = {
  readonly kind: 'strange_calls';
  readonly counts: readonly (readonly [op: string, count: number])[];
};

/** To the edge, at the start and whenever it changes; never before the commit. */
export type VaultState = {
  readonly kind: 'vault_state';
  /** SHA-256 of the admin token, one character a byte; null: no vault is open. */
  readonly adminDigest: string | null;
};

/** Now and then: records of the audit trail from before this time, in µs, may go. */
export type PruneAudit = { readonly kind: 'prune_audit'; readonly beforeUs: number };

/** From the vault actor to itself: what was written outside of a turn is on disk, or is not. */
export type SweepEvent = { readonly kind: 'sweep_on' } | { readonly kind: 'sweep_failed'; readonly problem: string };

export type VaultMessage = VaultCall | RefusedCall | StrangeCalls | PruneAudit | SweepEvent;

/** What the jobs of a plugin instance get at dispatch. */
export type Delivery = { readonly kind: 'secrets'; readonly packed: Uint8Array } | RevokedDelivery;
/** The principal is revoked: the attempts fail with this reason, and are the last ones. */
export type RevokedDelivery = { readonly kind: 'revoked'; readonly reason: string };

/** The vault, as the job actor calls it. */
export interface VaultCalls {
  /** Why the jobs of this instance must wait for the vault; null: they need not. */
  readonly waitsFor: (instance: string) => string | null;
  readonly deliver: Deliver;
}

/** For an instance that need not wait. `ids`: the jobs, 16 bytes each. Null: nothing is granted. The turn's commit has the audit of it. */
export type Deliver = (turn: Turn, instance: string, ids: Uint8Array) => Delivery | null;
