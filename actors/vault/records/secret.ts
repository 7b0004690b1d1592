// What the vault keeps: principals and secrets, and the words that they are described with.

export const principalKinds = ['plugin', 'consumer', 'gateway'] as const;
export type PrincipalKind = (typeof principalKinds)[number];

export const patterns = ['manual', 'auto'] as const;
/** auto: the service mints the value. */
export type Pattern = (typeof patterns)[number];

export type EntityStatus = 'active' | 'revoked';

/** An identity that secrets are delivered to. Times in µs. */
export type Principal = {
  readonly name: string;
  readonly kind: PrincipalKind;
  readonly status: EntityStatus;
  readonly createdUs: number;
  readonly changedUs: number;
};

export type Secret = {
  readonly name: string;
  readonly pattern: Pattern;
  readonly status: EntityStatus;
  /** Null: revoked. */
  readonly value: string | null;
  /** Names of principals. */
  readonly grants: readonly string[];
  readonly createdUs: number;
  readonly changedUs: number;
};

const nameRule = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

export function isName(text: string): boolean {
  return nameRule.test(text);
}

/** Nobody may touch these, but to rotate the admin token. */
export const corePrincipal = 'core';
export const adminTokenSecret = 'core-admin-token';

const adminTokenRule = /^[\x21-\x7e]{32,512}$/;

export function isAdminToken(text: string): boolean {
  return adminTokenRule.test(text);
}
