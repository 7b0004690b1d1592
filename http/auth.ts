// Who calls and what they may do: bearer tokens and their scopes (docs/contract.md#access).
import crypto from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { ApiScope } from '../config/section/scope.ts';

export type Caller = {
  /** Of its token; null when the configuration gives none. */
  readonly name: string | null;
  /** What its jobs carry as `submitted_by`. */
  readonly origin: string;
  readonly scopes: ReadonlySet<string>;
  /** SHA-256 of its token: tells tokens apart that have no name. */
  readonly tokenDigest: string;
  /** When the token ends; null: never. */
  readonly expiresAtMs: number | null;
};

/** Whether the caller has one of the scopes, by name, by implication, or as `*`. */
export function may(caller: Caller, anyOf: readonly ApiScope[]): boolean {
  if (caller.scopes.has('*')) return true;
  for (const scope of anyOf) if (caller.scopes.has(scope)) return true;
  return false;
}

/** The scopes that open a route, in words: any of these, or `*`. */
export function scopesText(anyOf: readonly string[]): string {
  const scopes = [...new Set([...anyOf, '*'])];
  return `${scopes.length === 1 ? 'the scope' : 'one of the scopes'} ${scopes.join(', ')}`;
}

const implied: { readonly [scope: string]: ApiScope } = {
  'plugin:rw': 'plugin:ro',
  'events:rw': 'events:ro',
  'system:rw': 'system:ro',
};

/** Who presents this Authorization header; undefined when nobody the service knows. */
export type Authenticate = (config: Config, authorization: string | undefined) => Caller | undefined;

type Entry = { readonly digest: Buffer; readonly expiresAtMs: number | null; readonly caller: Caller };

/**
 * Tokens are found by the SHA-256 of what is presented: nobody can steer a digest towards a stored one byte by byte, so how long the
 * search takes says nothing about any token. The comparison that decides takes the same time for every digest.
 */
export function makeAuthenticate(nowMs: () => number, adminDigest: () => string | null): Authenticate {
  let known: Config | undefined;
  let entries: ReadonlyMap<string, Entry> = new Map();
  const presented = Buffer.alloc(32);
  return (config, authorization) => {
    const token = authorization === undefined ? undefined : bearerToken(authorization);
    if (token === undefined) return undefined;
    if (config !== known) {
      entries = index(config);
      known = config;
    }
    const digest = sha256(token);
    const entry = entries.get(digest);
    presented.write(digest, 'latin1');
    if (!entry || !crypto.timingSafeEqual(presented, entry.digest)) return undefined;
    // The admin token of the vault opens nothing else, whatever the configuration says.
    if (digest === adminDigest()) return undefined;
    if (entry.expiresAtMs !== null && entry.expiresAtMs <= nowMs()) return undefined;
    return entry.caller;
  };
}

function index(config: Config): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const { name, token, scopes, expiresAtMs } of config.api.tokens) {
    if (token === '') continue;
    const granted = new Set(scopes);
    for (const scope of scopes) if (implied[scope]) granted.add(implied[scope]);
    const digest = sha256(token);
    const caller = {
      name,
      origin: name === null ? 'api' : `api:${name}`,
      scopes: granted,
      tokenDigest: digest,
      expiresAtMs,
    };
    entries.set(digest, { digest: Buffer.from(digest, 'latin1'), expiresAtMs, caller });
  }
  return entries;
}

/** The digest as a string of 32 characters. Node before 20.12 has only the slower way. */
export const sha256: (text: string) => string =
  typeof crypto.hash === 'function'
    ? text => crypto.hash('sha256', text, 'binary')
    : text => crypto.createHash('sha256').update(text).digest('binary');

const scheme = 'bearer ';

/** The credentials of `Bearer <token>`, the scheme in any letter case; undefined for anything else. */
export function bearerToken(authorization: string): string | undefined {
  if (authorization.length <= scheme.length) return undefined;
  if (!authorization.startsWith('Bearer ') && authorization.slice(0, scheme.length).toLowerCase() !== scheme) {
    return undefined;
  }
  const token = authorization.slice(scheme.length).trim();
  return token === '' || token.includes(' ') ? undefined : token;
}
