// Authentication and authorization of callers by API tokens, sessions of the dashboard, and scopes (docs/contract.md#access).
import crypto from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { ApiScope } from '../config/section/scope.ts';
import type { UiSession, UiSessions } from '../service/ui-sessions.ts';

export type Caller = {
  /** The name of the caller's API token (for a session: of the API token from which it came); null if the token has no name. */
  readonly name: string | null;
  /** The `submitted_by` of the caller's jobs. */
  readonly origin: string;
  readonly scopes: ReadonlySet<string>;
  /** The `sha256` of the caller's API token (for a session: of the API token from which it came); empty on listeners that have no tokens. */
  readonly tokenDigest: string;
  /** When the API token expires or the session ends, whichever is earlier; null: never. */
  readonly expiresAtMs: number | null;
  /** The SHA-256 in hex of the session token; absent if the caller uses no session of the dashboard. */
  readonly sessionDigest?: string;
};

/** The caller on a listener that has no API tokens. There a request for an unknown path gets 404 and not 401. */
export const anybody: Caller = { name: null, origin: '', scopes: new Set(), tokenDigest: '', expiresAtMs: null };

/** Whether the caller has one of the scopes: by name, by implication, or with `*`. */
export function may(caller: Caller, anyOf: readonly ApiScope[]): boolean {
  if (caller.scopes.has('*')) return true;
  for (const scope of anyOf) if (caller.scopes.has(scope)) return true;
  return false;
}

/** The scopes that give access to a route, in words for messages. */
export function scopesText(anyOf: readonly string[]): string {
  const scopes = [...new Set([...anyOf, '*'])];
  return `${scopes.length === 1 ? 'the scope' : 'one of the scopes'} ${scopes.join(', ')}`;
}

const implied: { readonly [scope: string]: ApiScope } = {
  'plugin:rw': 'plugin:ro',
  'control:rw': 'control:ro',
  'events:rw': 'events:ro',
  'system:rw': 'system:ro',
};

/**
 * The caller with this Authorization header, which contains an API token or a session token of the dashboard. Undefined if the token is
 * missing, unknown or expired, or is the admin token of the vault.
 */
export type Authenticate = (config: Config, authorization: string | undefined) => Caller | undefined;

type KnownToken = { readonly digest: Buffer; readonly caller: Caller };

/**
 * Makes the function that authenticates callers. API tokens are looked up by the SHA-256 of the presented token. A caller cannot choose a
 * digest byte by byte, so the duration of the lookup does not help to guess a token. The final comparison of digests takes constant time.
 */
export function makeAuthenticate(
  nowMs: () => number,
  adminDigest: () => string | null,
  sessions: Pick<UiSessions, 'find'>,
): Authenticate {
  let known: Config | undefined;
  let entries: ReadonlyMap<string, KnownToken> = new Map();
  const last = new LastHeader();
  return (config, authorization) => {
    if (authorization === undefined) return undefined;
    if (config !== known) {
      entries = index(config);
      known = config;
      last.forget();
    }
    const repeated = last.tokenOf(authorization);
    if (repeated !== null) return callerWith(repeated);
    const token = bearerToken(authorization);
    if (token === undefined) return undefined;
    const session = config.ui.enabled ? sessions.find(token) : undefined;
    if (session !== undefined) return callerIn(session);
    const digest = sha256(token);
    const entry = entries.get(digest);
    if (!entry || !crypto.timingSafeEqual(Buffer.from(digest, 'latin1'), entry.digest)) return undefined;
    last.remember(authorization, entry);
    return callerWith(entry);
  };

  function callerWith({ caller }: KnownToken): Caller | undefined {
    // The vault's admin token gives access to the vault alone, even if `api.auth.tokens` lists the same token.
    if (caller.tokenDigest === adminDigest()) return undefined;
    return hasExpired(caller) ? undefined : caller;
  }

  function hasExpired({ expiresAtMs }: Caller): boolean {
    return expiresAtMs !== null && expiresAtMs <= nowMs();
  }

  /** The caller in a session, with at most the scopes that the session's API token has now. Undefined if this API token is no longer valid. */
  function callerIn({ digest, originDigest, scopes, expiresAtMs }: UiSession): Caller | undefined {
    const origin = entries.get(binary(originDigest));
    if (!origin || binary(originDigest) === adminDigest()) return undefined;
    const { caller } = origin;
    if (hasExpired(caller)) return undefined;
    const granted = new Set(scopes.filter(scope => caller.scopes.has('*') || caller.scopes.has(scope)));
    // A session with the scope `*` has all scopes that its API token has now.
    const own = scopes.includes('*') ? caller.scopes : withImplied(granted);
    const endsMs = Math.min(expiresAtMs, caller.expiresAtMs ?? Infinity);
    return { ...caller, scopes: own, expiresAtMs: endsMs, sessionDigest: digest };
  }
}

/**
 * Remembers the last Authorization header that had a configured API token, even an expired one. Most callers send the same header again, and
 * comparing two headers takes a quarter of the time of hashing a token.
 */
class LastHeader {
  #length = 0;
  #bytes = Buffer.alloc(0);
  #presented = Buffer.alloc(0);
  #entry: KnownToken | null = null;

  /** The token of this header if the header equals the last one; otherwise null. Headers of equal length are compared in constant time. */
  tokenOf(authorization: string): KnownToken | null {
    if (this.#entry === null || authorization.length !== this.#length) return null;
    const isFull = this.#presented.write(authorization) === this.#bytes.length;
    return isFull && crypto.timingSafeEqual(this.#presented, this.#bytes) ? this.#entry : null;
  }

  remember(authorization: string, entry: KnownToken): void {
    this.#length = authorization.length;
    this.#bytes = Buffer.from(authorization);
    this.#presented = Buffer.alloc(this.#bytes.length);
    this.#entry = entry;
  }

  forget(): void {
    this.#entry = null;
  }
}

/** Converts a digest from hex to a string with one character for each byte. */
function binary(hex: string): string {
  return Buffer.from(hex, 'hex').toString('latin1');
}

/** These scopes and the scopes that they imply. */
function withImplied(scopes: ReadonlySet<string>): Set<string> {
  const all = new Set(scopes);
  for (const scope of scopes) if (implied[scope]) all.add(implied[scope]);
  return all;
}

function index(config: Config): Map<string, KnownToken> {
  const entries = new Map<string, KnownToken>();
  for (const { name, token, scopes, expiresAtMs } of config.api.tokens) {
    if (token === '') continue;
    const granted = withImplied(new Set(scopes));
    const digest = sha256(token);
    const caller = {
      name,
      origin: name === null ? 'api' : `api:${name}`,
      scopes: granted,
      tokenDigest: digest,
      expiresAtMs,
    };
    entries.set(digest, { digest: Buffer.from(digest, 'latin1'), caller });
  }
  return entries;
}

/** The SHA-256 of a text, as a string with one character for each of the 32 bytes. Older versions of Node lack `crypto.hash`. */
export const sha256: (text: string) => string =
  typeof crypto.hash === 'function'
    ? text => crypto.hash('sha256', text, 'binary')
    : text => crypto.createHash('sha256').update(text).digest('binary');

const scheme = 'bearer ';

/** The token in `Bearer <token>`, with the scheme in any letter case; undefined if the header has another form. */
export function bearerToken(authorization: string): string | undefined {
  if (authorization.length <= scheme.length) return undefined;
  if (!authorization.startsWith('Bearer ') && authorization.slice(0, scheme.length).toLowerCase() !== scheme) {
    return undefined;
  }
  const token = authorization.slice(scheme.length).trim();
  return token === '' || token.includes(' ') ? undefined : token;
}
