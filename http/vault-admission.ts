// Who may use the vault: only the holder of its admin token (docs/contract.md#access).
import crypto from 'node:crypto';
import { bearerToken, type Caller, sha256 } from './auth.ts';
import type { Match } from './router.ts';

/** What stands in the audit trail for a call that no route takes. */
const unknownOp = 'unknown';

/**
 * Which operation of the vault is meant, or null where the path does not belong to it. All below `/vault/` does, on a listener
 * that serves the vault: API tokens are rejected there whatever the path.
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

const noScopes: ReadonlySet<string> = new Set();

/** The admin, or undefined. Digests are compared, in the time that every comparison takes. */
export function authenticateAdmin(authorization: string | undefined, adminDigest: string): Caller | undefined {
  const token = authorization === undefined ? undefined : bearerToken(authorization);
  if (token === undefined) return undefined;
  const tokenDigest = sha256(token);
  if (!crypto.timingSafeEqual(Buffer.from(tokenDigest, 'latin1'), Buffer.from(adminDigest, 'latin1'))) return undefined;
  return { name: 'vault admin', origin: 'vault', scopes: noScopes, tokenDigest, expiresAtMs: null };
}
