// The records of the vault: principals and secrets, with their kinds, patterns and statuses.

export const principalKinds = ['plugin', 'consumer', 'gateway'] as const;
export type PrincipalKind = (typeof principalKinds)[number];

export const patterns = ['manual', 'auto'] as const;
/** Where the value of a secret comes from. `auto`: the service generates it. `manual`: callers set it. */
export type SecretPattern = (typeof patterns)[number];

/** The fields that principals and secrets have in common. Times are in µs. */
type VaultEntity = {
  readonly name: string;
  readonly status: 'active' | 'revoked';
  readonly createdUs: number;
  readonly changedUs: number;
};

/** An identity to which secrets can be granted. */
export type Principal = VaultEntity & { readonly kind: PrincipalKind };

export type Secret = VaultEntity & {
  readonly pattern: SecretPattern;
  /** The value. Null: the secret is revoked. */
  readonly value: string | null;
  /** The names of the principals to which the secret is granted. */
  readonly grants: readonly string[];
};

const nameRule = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

export function isName(text: string): boolean {
  return nameRule.test(text);
}

/**
 * The reserved names of a principal and of a secret. The only permitted write to either is a new value of `core-admin-token`, the admin
 * token.
 */
export const corePrincipal = 'core';
export const adminTokenSecret = 'core-admin-token';

const adminTokenRule = /^[\x21-\x7e]{32,512}$/;

export function isAdminToken(text: string): boolean {
  return adminTokenRule.test(text);
}
