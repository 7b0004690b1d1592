// The rules of the vault: from what it holds and a request to what changes and what is answered. Pure.
import type { Listing, PruneRequest, VaultDone, VaultRefusal, VaultRequest } from './protocol.ts';
import {
  adminTokenSecret,
  corePrincipal,
  isAdminToken,
  isName,
  type Pattern,
  type Principal,
  patterns,
  principalKinds,
  type Secret,
} from './records/secret.ts';

export type Holdings = {
  readonly principals: ReadonlyMap<string, Principal>;
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Names whose records do not open. */
  readonly damaged: {
    readonly vault_principals: ReadonlySet<string>;
    readonly vault_secrets: ReadonlySet<string>;
  };
};

export type Change =
  | { readonly kind: 'principal'; readonly principal: Principal }
  | { readonly kind: 'secret'; readonly secret: Secret }
  | { readonly kind: 'purge'; readonly name: string }
  | { readonly kind: 'admin_token'; readonly token: string };

export type Ruling =
  | { readonly kind: 'done'; readonly done: VaultDone; readonly changes: readonly Change[] }
  | { readonly kind: 'refused'; readonly refusal: VaultRefusal; readonly detail: string };

/** `mint` makes the value of an auto secret. */
export function rule(
  held: Holdings,
  request: Exclude<VaultRequest, PruneRequest>,
  nowUs: number,
  mint: () => string,
): Ruling {
  if (request.op === 'list') return { kind: 'done', done: { listing: listingOf(held) }, changes: [] };
  const { name } = request;
  // What is no name may be anything, a value too: it is not repeated.
  if (!isName(name))
    return refuse('invalid_name', 'the name must be 1 to 128 of A-Z a-z 0-9 _ -, and begin with a letter or digit');
  switch (request.op) {
    case 'principal.register':
      return register(held, name, request.principalKind, nowUs);
    case 'principal.revoke':
      return withPrincipal(held, name, principal =>
        done('revoked', { kind: 'principal', principal: { ...principal, status: 'revoked', changedUs: nowUs } }),
      );
    case 'principal.purge':
      return withPrincipal(held, name, () => done('purged', { kind: 'purge', name }, ...ungranted(held, name, nowUs)));
    case 'principal.roll':
      return withPrincipal(held, name, () => rollAll(held, name, nowUs, mint));
    case 'secret.set':
      return name === adminTokenSecret ? rotateAdminToken(request) : set(held, request, nowUs, mint);
    case 'secret.roll':
      return withSecret(held, name, secret => {
        if (secret.status === 'revoked') return refuse('revoked_secret', `the secret ${name} is revoked`);
        const value = secret.pattern === 'auto' ? mint() : request.value;
        return withValue(value, name, text => done('rolled', put({ ...secret, value: text, changedUs: nowUs })));
      });
    case 'secret.revoke':
      return withSecret(held, name, secret =>
        done('revoked', put({ ...secret, status: 'revoked', value: null, changedUs: nowUs })),
      );
  }
}

function register(held: Holdings, name: string, kindName: string, nowUs: number): Ruling {
  if (name === corePrincipal) return reserved(name);
  const kind = principalKinds.find(one => one === kindName);
  if (!kind) return refuse('invalid_kind', `the kind must be one of ${principalKinds.join(', ')}`);
  const known = held.principals.get(name);
  if (known?.status === 'revoked') {
    return refuse(
      'revoked_principal',
      `the principal ${name} is revoked; it must be purged before it is registered anew`,
    );
  }
  if (known && known.kind !== kind) return refuse('invalid_kind', `the principal ${name} is a ${known.kind}`);
  if (known) return done('registered');
  const principal = { name, kind, status: 'active', createdUs: nowUs, changedUs: nowUs } as const;
  return done('registered', { kind: 'principal', principal });
}

type SetRequest = VaultRequest & { readonly op: 'secret.set' };

function set(held: Holdings, request: SetRequest, nowUs: number, mint: () => string): Ruling {
  const { name, value } = request;
  const known = held.secrets.get(name);
  const pattern = patternOf(request, known);
  if (!pattern) return refuse('invalid_pattern', `the pattern must be one of ${patterns.join(', ')}`);
  if (known?.status === 'revoked') return refuse('revoked_secret', `the secret ${name} is revoked`);
  if (held.damaged.vault_secrets.has(name) && request.grants === undefined) {
    return refuse(
      'missing_value',
      `the record of the secret ${name} does not open: name its authorized_principals again`,
    );
  }
  const grants = [...new Set(request.grants ?? known?.grants ?? [])];
  if (grants.includes(corePrincipal)) return reserved(corePrincipal);
  const orphan = grants.find(grant => !held.principals.has(grant));
  if (orphan !== undefined) {
    const which = isName(orphan) ? ` ${orphan}` : ' of that name';
    return refuse('orphan_grant', `there is no principal${which}`);
  }
  const createdUs = known?.createdUs ?? nowUs;
  const isNew = known?.pattern !== pattern;
  const wanted = pattern === 'auto' ? (isNew ? mint() : known.value) : (value ?? known?.value);
  return withValue(wanted, name, text =>
    done('set', put({ name, pattern, status: 'active', value: text, grants, createdUs, changedUs: nowUs })),
  );
}

function patternOf({ pattern }: SetRequest, known: Secret | undefined): Pattern | undefined {
  return pattern === undefined ? (known?.pattern ?? 'manual') : patterns.find(one => one === pattern);
}

/** The one write to a reserved entity: exactly a name and a value. */
function rotateAdminToken({ value, grants, pattern }: SetRequest): Ruling {
  if (value === undefined || grants !== undefined || pattern !== undefined) return reserved(adminTokenSecret);
  if (!isAdminToken(value))
    return refuse('invalid_value', 'the admin token must be 32 to 512 visible ASCII characters');
  return done('set', { kind: 'admin_token', token: value });
}

function rollAll(held: Holdings, name: string, nowUs: number, mint: () => string): Ruling {
  const granted = [...held.secrets.values()].filter(
    ({ status, grants }) => status === 'active' && grants.includes(name),
  );
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

/** Every secret that names the principal, without that grant. */
function ungranted(held: Holdings, principal: string, nowUs: number): Change[] {
  return [...held.secrets.values()]
    .filter(({ grants }) => grants.includes(principal))
    .map(secret => put({ ...secret, grants: secret.grants.filter(name => name !== principal), changedUs: nowUs }));
}

function withPrincipal(held: Holdings, name: string, then: (principal: Principal) => Ruling): Ruling {
  if (name === corePrincipal) return reserved(name);
  const principal = held.principals.get(name);
  if (principal) return then(principal);
  const isDamaged = held.damaged.vault_principals.has(name);
  return refuse(
    'unknown_principal',
    isDamaged
      ? `the record of the principal ${name} does not open: register it again`
      : `there is no principal ${name}`,
  );
}

function withSecret(held: Holdings, name: string, then: (secret: Secret) => Ruling): Ruling {
  if (name === adminTokenSecret) return reserved(name);
  const secret = held.secrets.get(name);
  if (secret) return then(secret);
  const isDamaged = held.damaged.vault_secrets.has(name);
  return refuse(
    'unknown_secret',
    isDamaged ? `the record of the secret ${name} does not open: set it again` : `there is no secret ${name}`,
  );
}

function withValue(value: string | null | undefined, name: string, then: (value: string) => Ruling): Ruling {
  if (value === undefined || value === null || value === '') {
    return refuse('missing_value', `the secret ${name} is manual: it needs a value that is not empty`);
  }
  return then(value);
}

function listingOf({ principals, secrets, damaged }: Holdings): Listing {
  return {
    principals: inOrder(principals),
    secrets: inOrder(secrets).map(({ value: _, ...secret }) => secret),
    damaged: { principals: [...damaged.vault_principals].sort(), secrets: [...damaged.vault_secrets].sort() },
  };
}

function inOrder<T>(entities: ReadonlyMap<string, T>): T[] {
  return [...entities].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entity]) => entity);
}

function put(secret: Secret): Change {
  return { kind: 'secret', secret };
}

function done(status: 'registered' | 'set' | 'rolled' | 'revoked' | 'purged', ...changes: Change[]): Ruling {
  return { kind: 'done', done: { status }, changes };
}

function reserved(name: string): Ruling {
  return refuse('reserved_entity', `${name} is reserved`);
}

function refuse(refusal: VaultRefusal, detail: string): Ruling {
  return { kind: 'refused', refusal, detail };
}
