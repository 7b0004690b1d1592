// Access to the vault: only the holder of its admin token may use the vault (docs/contract.md#access).
import crypto from 'node:crypto';
import type { VaultCalls } from '../service/vault-client.ts';
import { bearerToken, type Caller, sha256 } from './auth.ts';
import type { Match } from './router.ts';

/** The operation that the audit trail records for a call without a route. */
const unknownOp = 'unknown';

/**
 * The vault operation of a path; null if the path does not belong to the vault. On a listener that serves the vault, every path below `/vault/`
 * belongs to the vault, so API tokens are rejected there.
 */
export function vaultOpOf(match: Match, path: string, isServed: boolean): string | null {
  if (typeof match === 'object') {
    const access = match.place.routes.POST?.access;
    return access?.kind === 'vault' ? access.op : null;
  }
  return isServed && isBelowVault(path) ? unknownOp : null;
}

function isBelowVault(path: string): boolean {
  const slash = path.indexOf('/', 1);
  if (slash < 0) return false;
  try {
    return decodeURIComponent(path.slice(1, slash)) === 'vault';
  } catch {
    return false;
  }
}

/** Records a call that was refused for its framing, before its token was checked. Resolves when the record of an admin's call is on disk. */
export async function auditMisframed(
  vault: VaultCalls,
  op: string,
  authorization: string | undefined,
  code: string,
): Promise<void> {
  if (vault.adminDigest === null) return;
  if (authenticateAdmin(authorization, vault.adminDigest)) await vault.refused(op, code);
  else vault.unauthenticated(op);
}

const noScopes: ReadonlySet<string> = new Set();

/** The vault's admin if the header has the admin token, else undefined. Digests are compared in constant time. */
export function authenticateAdmin(authorization: string | undefined, adminDigest: string): Caller | undefined {
  const token = authorization === undefined ? undefined : bearerToken(authorization);
  if (token === undefined) return undefined;
  const tokenDigest = sha256(token);
  if (!crypto.timingSafeEqual(Buffer.from(tokenDigest, 'latin1'), Buffer.from(adminDigest, 'latin1'))) return undefined;
  return { name: 'vault admin', origin: 'vault', scopes: noScopes, tokenDigest, expiresAtMs: null };
}
