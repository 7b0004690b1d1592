// The rules of the vault. From the contents of the vault and a request, `decide` derives the answer and the changes to make. It does not
// make these changes itself.
import type { PruneRequest, VaultDone, VaultListing, VaultRefusal, VaultRequest } from './protocol.ts';
import {
  adminTokenSecret,
  corePrincipal,
  isAdminToken,
  isName,
  type Principal,
  patterns,
  principalKinds,
  type Secret,
  type SecretPattern,
} from './records/secret.ts';
import type { Vault } from './vault.ts';

export type VaultContents = Pick<Vault, 'principals' | 'secrets' | 'damaged'>;

export type VaultChange =
  | { readonly kind: 'principal'; readonly principal: Principal }
  | { readonly kind: 'secret'; readonly secret: Secret }
  | { readonly kind: 'purge'; readonly name: string }
  | { readonly kind: 'admin_token'; readonly token: string };

export type PolicyDecision =
  | { readonly kind: 'done'; readonly done: VaultDone; readonly changes: readonly VaultChange[] }
  | { readonly kind: 'refused'; readonly refusal: VaultRefusal; readonly detail: string };

/** Decides on a request. `mint` creates the value of an auto secret. */
export function decide(
  vault: VaultContents,
  request: Exclude<VaultRequest, PruneRequest>,
  nowUs: number,
  mint: () => string,
): PolicyDecision {
  if (request.op === 'list') return { kind: 'done', done: { listing: listingOf(vault) }, changes: [] };
  const { name } = request;
  // The message does not repeat an invalid name, which may be anything, even the value of a secret.
  if (!isName(name)) {
    const rule = '1 to 128 characters of A-Z a-z 0-9 _ -, beginning with a letter or digit';
    return refuse('invalid_name', `the name must be ${rule}`);
  }
  switch (request.op) {
    case 'principal.register':
      return register(vault, name, request.principalKind, nowUs);
    case 'principal.revoke':
      return withPrincipal(vault, name, principal =>
        done('revoked', { kind: 'principal', principal: { ...principal, status: 'revoked', changedUs: nowUs } }),
      );
    case 'principal.purge':
      return withPrincipal(vault, name, () => done('purged', { kind: 'purge', name }, ...ungrant(vault, name, nowUs)));
    case 'principal.roll':
      return withPrincipal(vault, name, () => rollAll(vault, name, nowUs, mint));
    case 'secret.set':
      return name === adminTokenSecret ? rotateAdminToken(request) : set(vault, request, nowUs, mint);
    case 'secret.roll':
      return withSecret(vault, name, secret => {
        if (secret.status === 'revoked') return revokedSecret(name);
        const value = secret.pattern === 'auto' ? mint() : request.value;
        return withValue(value, name, text => done('rolled', put({ ...secret, value: text, changedUs: nowUs })));
      });
    case 'secret.revoke':
      return withSecret(vault, name, secret =>
        done('revoked', put({ ...secret, status: 'revoked', value: null, changedUs: nowUs })),
      );
  }
}

function register({ principals }: VaultContents, name: string, kindName: string, nowUs: number): PolicyDecision {
  if (name === corePrincipal) return reserved(name);
  const kind = principalKinds.find(one => one === kindName);
  if (!kind) return refuse('invalid_kind', `the kind must be one of ${principalKinds.join(', ')}`);
  const known = principals.get(name);
  if (known?.status === 'revoked') {
    return refuse('revoked_principal', `the principal ${name} is revoked: purge it before you register it again`);
  }
  if (known && known.kind !== kind) {
    const problem = `the principal ${name} is registered as ${known.kind}`;
    return refuse('invalid_kind', `${problem}: purge it before you register it as ${kind}`);
  }
  if (known) return done('registered');
  const principal = { name, kind, status: 'active', createdUs: nowUs, changedUs: nowUs } as const;
  return done('registered', { kind: 'principal', principal });
}

type SetRequest = VaultRequest & { readonly op: 'secret.set' };

function set(vault: VaultContents, request: SetRequest, nowUs: number, mint: () => string): PolicyDecision {
  const { name, value } = request;
  const known = vault.secrets.get(name);
  const pattern = patternOf(request, known);
  if (!pattern) return refuse('invalid_pattern', `the pattern must be one of ${patterns.join(', ')}`);
  if (known?.status === 'revoked') return revokedSecret(name);
  if (vault.damaged.vault_secrets.has(name) && request.grants === undefined) {
    const problem = `the record of the secret ${name} does not open`;
    return refuse('missing_value', `${problem}: set it again with its authorized_principals`);
  }
  const grants = [...new Set(request.grants ?? known?.grants ?? [])];
  if (grants.includes(corePrincipal)) return reserved(corePrincipal);
  const orphan = grants.find(grant => !vault.principals.has(grant));
  if (orphan !== undefined) {
    const which = isName(orphan) ? `${orphan}, which is not` : 'a name that is not';
    return refuse('orphan_grant', `authorized_principals has ${which} a registered principal`);
  }
  const createdUs = known?.createdUs ?? nowUs;
  const isNew = known?.pattern !== pattern;
  const wanted = pattern === 'auto' ? (isNew ? mint() : known.value) : (value ?? known?.value);
  return withValue(wanted, name, text =>
    done('set', put({ name, pattern, status: 'active', value: text, grants, createdUs, changedUs: nowUs })),
  );
}

function patternOf({ pattern }: SetRequest, known: Secret | undefined): SecretPattern | undefined {
  return pattern === undefined ? (known?.pattern ?? 'manual') : patterns.find(one => one === pattern);
}

/** Sets the admin token: the only write to a reserved name. The request must have exactly a name and a value. */
function rotateAdminToken({ value, grants, pattern }: SetRequest): PolicyDecision {
  if (value === undefined || grants !== undefined || pattern !== undefined) {
    return refuse('reserved_entity', `${adminTokenSecret} is reserved: only its value can be set`);
  }
  if (isAdminToken(value)) return done('set', { kind: 'admin_token', token: value });
  return refuse('invalid_value', 'the admin token must be 32 to 512 visible ASCII characters');
}

/** The active secrets that are granted to the principal. */
export function grantedTo({ secrets }: VaultContents, principal: string): Secret[] {
  return [...secrets.values()].filter(({ status, grants }) => status === 'active' && grants.includes(principal));
}

function rollAll(vault: VaultContents, name: string, nowUs: number, mint: () => string): PolicyDecision {
  const granted = grantedTo(vault, name);
  const autos = granted.filter(({ pattern }) => pattern === 'auto');
  const skipped = granted.filter(({ pattern }) => pattern === 'manual');
  return {
    kind: 'done',
    done: { rolled: namesOf(autos), skipped: namesOf(skipped) },
    changes: autos.map(secret => put({ ...secret, value: mint(), changedUs: nowUs })),
  };
}

function namesOf(secrets: readonly Secret[]): string[] {
  return secrets.map(({ name }) => name).sort();
}

/** The changes that remove the principal from the grants of secrets. */
function ungrant({ secrets }: VaultContents, principal: string, nowUs: number): VaultChange[] {
  return [...secrets.values()]
    .filter(({ grants }) => grants.includes(principal))
    .map(secret => put({ ...secret, grants: secret.grants.filter(name => name !== principal), changedUs: nowUs }));
}

function withPrincipal(
  { principals, damaged }: VaultContents,
  name: string,
  then: (principal: Principal) => PolicyDecision,
): PolicyDecision {
  if (name === corePrincipal) return reserved(name);
  const principal = principals.get(name);
  if (principal) return then(principal);
  if (!damaged.vault_principals.has(name)) return refuse('unknown_principal', `there is no principal ${name}`);
  return refuse('unknown_principal', `the record of the principal ${name} does not open: register it again`);
}

function withSecret(
  { secrets, damaged }: VaultContents,
  name: string,
  then: (secret: Secret) => PolicyDecision,
): PolicyDecision {
  if (name === adminTokenSecret) return reserved(name);
  const secret = secrets.get(name);
  if (secret) return then(secret);
  if (!damaged.vault_secrets.has(name)) return refuse('unknown_secret', `there is no secret ${name}`);
  return refuse('unknown_secret', `the record of the secret ${name} does not open: set it again`);
}

function withValue(
  value: string | null | undefined,
  name: string,
  then: (value: string) => PolicyDecision,
): PolicyDecision {
  if (value) return then(value);
  return refuse('missing_value', `the secret ${name} is manual: its value must be a string that is not empty`);
}

function listingOf({ principals, secrets, damaged }: VaultContents): VaultListing {
  return {
    principals: inOrder(principals),
    secrets: inOrder(secrets).map(({ value: _, ...secret }) => secret),
    damaged: { principals: [...damaged.vault_principals].sort(), secrets: [...damaged.vault_secrets].sort() },
  };
}

function inOrder<T>(entries: ReadonlyMap<string, T>): T[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

function put(secret: Secret): VaultChange {
  return { kind: 'secret', secret };
}

function done(
  status: 'registered' | 'set' | 'rolled' | 'revoked' | 'purged',
  ...changes: VaultChange[]
): PolicyDecision {
  return { kind: 'done', done: { status }, changes };
}

function reserved(name: string): PolicyDecision {
  return refuse('reserved_entity', `${name} is reserved`);
}

function revokedSecret(name: string): PolicyDecision {
  return refuse('revoked_secret', `the secret ${name} is revoked permanently: use another name`);
}

function refuse(refusal: VaultRefusal, detail: string): PolicyDecision {
  return { kind: 'refused', refusal, detail };
}
