// Vault management (docs/contract.md#vault), for the admin token only. No route returns the value of a secret.
import type { VaultListing, VaultOp, VaultRefusal, VaultReply, VaultRequest } from '../../actors/vault/protocol.ts';
import { type Schema, Type } from '../../runtime/schema-type.ts';
import { parseTimestamp, timestamp } from '../../service/json/timestamp.ts';
import { bodyOf, counted, oneOfTexts } from '../openapi/schemas.ts';
import { problem } from '../problem.ts';
import { timeRule } from '../query.ts';
import { type Answer, json, type Route, route } from '../route.ts';

const section = 'Vault';

const named = { name: Type.String() };
const nameOnly = bodyOf(named);

const principalBody = bodyOf({
  ...named,
  kind: Type.String({ description: 'plugin, consumer or gateway; only plugins receive secrets.' }),
});

const secretBody = bodyOf({
  ...named,
  value: Type.Optional(Type.String({ description: 'Default: unchanged. Ignored for an auto secret.' })),
  authorized_principals: Type.Optional(
    Type.Array(Type.String(), { description: 'Replaces the grants. Default: unchanged.' }),
  ),
  pattern: Type.Optional(
    Type.String({ description: 'manual or auto. Default: manual for a new secret, else unchanged.' }),
  ),
});

const rollBody = bodyOf({
  ...named,
  value: Type.Optional(Type.String({ description: 'Required for a manual secret, ignored for an auto secret.' })),
});

function answered(status: string): Schema {
  return Type.Object({ name: Type.String(), status: Type.Literal(status) });
}

const rolledPrincipal = Type.Object({
  name: Type.String(),
  rolled: Type.Array(Type.String()),
  skipped: Type.Array(Type.String(), { description: 'The manual secrets, which are not rolled.' }),
});

const listBody = bodyOf({});

const times = { created_at: Type.String(), changed_at: Type.String() };
const entityStatus = oneOfTexts(['active', 'revoked']);
const names = Type.Array(Type.String());

const listing = Type.Object({
  principals: Type.Array(Type.Object({ ...named, kind: Type.String(), status: entityStatus, ...times })),
  secrets: Type.Array(
    Type.Object({ ...named, pattern: Type.String(), status: entityStatus, authorized_principals: names, ...times }),
  ),
  damaged: Type.Object(
    { principals: names, secrets: names },
    {
      description:
        'Records that cannot be decrypted. A damaged principal holds its own jobs, and a damaged secret those of all principals, until it is set again.',
    },
  ),
});

const pruneBody = bodyOf({
  before: Type.String({ description: 'RFC 3339. Records from this time or later stay.' }),
  through: Type.Optional(counted('The `seq` of the last record that may be removed. Default: the last but one.')),
});

const pruned = Type.Object({
  status: Type.Literal('pruned'),
  records: Type.Integer({ description: 'The number of removed records.' }),
  more: Type.Boolean({ description: 'More records may be removable: call again.' }),
});

const unavailableDetails = {
  unauthorized: 'the admin token was rotated meanwhile',
  vault_unavailable: 'no vault is open here',
  disk_full: 'the disk is full: nothing new can be stored',
  unavailable: 'the vault cannot take calls right now',
} as const;

/** The fields of all bodies of vault routes. The schema of each route allows only some of these fields. */
type VaultBody = {
  readonly name: string;
  readonly kind: string;
  readonly value?: string;
  readonly authorized_principals?: readonly string[];
  readonly pattern?: string;
  readonly before: string;
  readonly through?: number;
};

type Declared = Pick<Route, 'path' | 'summary' | 'notes'> & {
  readonly op: VaultOp;
  readonly body: Schema;
  readonly answer: Schema;
  readonly problems: readonly VaultRefusal[];
  /** Makes the request to the vault actor; undefined if `before` is not a valid time. */
  readonly request: (body: VaultBody) => VaultRequest | undefined;
};

function vaultRoute({ op, answer, problems, request, ...declared }: Declared): Route {
  const hasName = op !== 'list' && op !== 'audit.prune';
  return route({
    ...declared,
    method: 'POST',
    section,
    access: { kind: 'vault', op },
    problems: ['disk_full', 'unavailable', ...(hasName ? (['invalid_name'] as const) : []), ...problems],
    answers: { 200: { description: 'The effect is on disk, and the call is in the audit trail.', schema: answer } },
    handle(call) {
      const { engine, caller, body: given } = call;
      if (given === undefined) return problem('invalid_request', 'a JSON body is needed');
      const asked = request(given as VaultBody);
      if (!asked) return problem('invalid_request', `/before ${timeRule}`);
      return engine.vault.call(caller!.tokenDigest, asked, call).then(reply => answerOf(asked, reply));
    },
  });
}

function answerOf(asked: VaultRequest, reply: VaultReply): Answer {
  if (reply.kind === 'refused') {
    return problem(reply.refusal, 'detail' in reply ? reply.detail : unavailableDetails[reply.refusal]);
  }
  if ('listing' in reply) return json(200, JSON.stringify(listed(reply.listing)));
  const { kind: _, ...fields } = reply;
  return json(200, JSON.stringify({ name: 'name' in asked ? asked.name : undefined, ...fields }));
}

function listed({ principals, secrets, damaged }: VaultListing): object {
  return {
    principals: principals.map(({ name, kind, status, createdUs, changedUs }) => {
      return { name, kind, status, created_at: timestamp(createdUs), changed_at: timestamp(changedUs) };
    }),
    secrets: secrets.map(({ name, pattern, status, grants, createdUs, changedUs }) => {
      const at = { created_at: timestamp(createdUs), changed_at: timestamp(changedUs) };
      return { name, pattern, status, authorized_principals: grants, ...at };
    }),
    damaged,
  };
}

export const vaultRoutes: readonly Route[] = [
  vaultRoute({
    op: 'principal.register',
    path: '/vault/principal',
    summary: 'Registers a principal, an identity to which secrets are granted.',
    notes: 'The principal of a plugin has the name of the plugin instance and the kind `plugin`.',
    body: principalBody,
    answer: answered('registered'),
    problems: ['invalid_kind', 'reserved_entity', 'revoked_principal'],
    request: ({ name, kind }) => ({ op: 'principal.register', name, principalKind: kind }),
  }),
  vaultRoute({
    op: 'secret.set',
    path: '/vault/secret',
    summary: 'Creates a secret, or changes the fields that the body contains.',
    notes:
      'With exactly `{"name": "core-admin-token", "value": "…"}` it rotates the admin token (32 to 512 visible ASCII characters).',
    body: secretBody,
    answer: answered('set'),
    problems: [
      'invalid_pattern',
      'invalid_value',
      'missing_value',
      'orphan_grant',
      'reserved_entity',
      'revoked_secret',
    ],
    request: ({ name, value, authorized_principals: grants, pattern }) => ({
      op: 'secret.set',
      name,
      ...(value !== undefined && { value }),
      ...(grants !== undefined && { grants }),
      ...(pattern !== undefined && { pattern }),
    }),
  }),
  vaultRoute({
    op: 'secret.roll',
    path: '/vault/secret/roll',
    summary: 'Gives a secret a new value: the one in the body, or a generated one for an auto secret.',
    body: rollBody,
    answer: answered('rolled'),
    problems: ['missing_value', 'reserved_entity', 'revoked_secret', 'unknown_secret'],
    request: ({ name, value }) => ({ op: 'secret.roll', name, ...(value !== undefined && { value }) }),
  }),
  vaultRoute({
    op: 'secret.revoke',
    path: '/vault/secret/revoke',
    summary: 'Revokes a secret permanently and clears its value.',
    body: nameOnly,
    answer: answered('revoked'),
    problems: ['reserved_entity', 'unknown_secret'],
    request: ({ name }) => ({ op: 'secret.revoke', name }),
  }),
  vaultRoute({
    op: 'principal.revoke',
    path: '/vault/principal/revoke',
    summary: 'Revokes a principal: the jobs of its plugin fail, and no secret is delivered to it.',
    body: nameOnly,
    answer: answered('revoked'),
    problems: ['reserved_entity', 'unknown_principal'],
    request: ({ name }) => ({ op: 'principal.revoke', name }),
  }),
  vaultRoute({
    op: 'principal.purge',
    path: '/vault/principal/purge',
    summary: 'Removes a principal and its grants from every secret.',
    body: nameOnly,
    answer: answered('purged'),
    problems: ['reserved_entity', 'unknown_principal'],
    request: ({ name }) => ({ op: 'principal.purge', name }),
  }),
  vaultRoute({
    op: 'principal.roll',
    path: '/vault/principal/roll',
    summary: 'Rolls every auto secret that is granted to a principal.',
    body: nameOnly,
    answer: rolledPrincipal,
    problems: ['reserved_entity', 'unknown_principal'],
    request: ({ name }) => ({ op: 'principal.roll', name }),
  }),
  vaultRoute({
    op: 'list',
    path: '/vault/list',
    summary: 'Lists principals and secrets: names, kinds, grants, statuses and times, never values.',
    body: listBody,
    answer: listing,
    problems: [],
    request: () => ({ op: 'list' }),
  }),
  vaultRoute({
    op: 'audit.prune',
    path: '/vault/audit/prune',
    summary: 'Verifies and removes the oldest records of the audit trail, at most 50,000 per call.',
    notes:
      'With `vault.audit_export` they are written to a file first. The newest record always stays. To keep pruned records, use the command `vault audit --export`.',
    body: pruneBody,
    answer: pruned,
    problems: ['broken_trail', 'export_failed'],
    request({ before, through }) {
      const beforeUs = parseTimestamp(before);
      return beforeUs === undefined
        ? undefined
        : { op: 'audit.prune', beforeUs, ...(through !== undefined && { through }) };
    },
  }),
];
