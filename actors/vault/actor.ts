// While the service runs, the vault actor is the only writer of principals, secrets and the audit trail. A change or
// delivery and its audit record are written in one commit.
import { createHash } from 'node:crypto';
import { pack } from '../../runtime/packing.ts';
import type { Actor, Turn } from '../../runtime/turn.ts';
import type { Observed } from '../hub/protocol.ts';
import { AuditPruning, type AuditPruningOptions } from './audit-pruning.ts';
import { decide, grantedTo, type VaultChange } from './policy.ts';
import type {
  Delivery,
  VaultCall,
  VaultDelivery,
  VaultMessage,
  VaultReply,
  VaultRequest,
  VaultStatus,
} from './protocol.ts';
import type { AuditRecord, NewAuditRecord } from './records/audit.ts';
import { rangesOf } from './records/job-ranges.ts';
import { isName } from './records/secret.ts';
import type { Unlock } from './unlock-key.ts';
import { type Opening, openVault, type Vault } from './vault.ts';

export type VaultActorOptions = Omit<AuditPruningOptions, 'audit'> & {
  /** Reads the unlock key. Called when the actor starts, and on each reload while no vault is open. */
  readonly readUnlock: () => Unlock;
  /** Called each time the actor has tried to open the vault. */
  readonly onOpened: (opening: Opening) => void;
  /** Called when the answers of `waitsFor` may have changed. */
  readonly onHoldsChanged?: () => void;
};

export type VaultActor = Actor &
  VaultDelivery & {
    /** The status at the end of the last turn. */
    readonly state: VaultStatus;
    /** Called after a reload: tries to open the vault if none is open. */
    reconfigure(): void;
    /**
     * Writes the table of contents and the keyring if the turn has changed them. If the status has changed, sends it to the main
     * thread.
     */
    close(turn: Turn): void;
  };

const secretBytes = 32;
const sealed = 'the vault does not open: no job is dispatched until it does';

/** The secrets of a plugin instance. They are computed once, and kept until the vault changes. `names`: the names of the delivered secrets. */
type InstanceSecrets = { readonly delivery: Delivery; readonly names: readonly string[] };

export function startVaultActor(options: VaultActorOptions): VaultActor {
  const { reader, random, onHoldsChanged = () => {} } = options;
  let isSealed = false;
  let vault: Vault | null = null;
  let secretsOf = new Map<string, InstanceSecrets | null>();
  const pruning = new AuditPruning({ ...options, audit });
  open();
  let committed = statusOf(vault, isSealed);

  function open(): void {
    const opening = openVault(reader, options.readUnlock(), random);
    isSealed = opening.kind === 'sealed';
    vault = opening.kind === 'open' ? opening.vault : null;
    secretsOf = new Map();
    options.onOpened(opening);
  }

  function handle(message: VaultMessage, turn: Turn): void {
    switch (message.kind) {
      case 'call': {
        const reply = vault ? call(vault, message, turn) : unavailable;
        if (reply !== null) turn.reply(message.replyTo, reply);
        break;
      }
      case 'refused_call':
        audit(turn, { actor: 'admin', op: message.op, outcome: 'refused', code: message.code });
        turn.reply(message.replyTo, { kind: 'recorded' });
        break;
      case 'unauthenticated_calls':
        for (const [op, count] of message.counts) {
          audit(turn, { actor: 'unknown', op, outcome: 'refused', code: 'unauthorized', count });
        }
        break;
      case 'prune_audit':
        if (vault) pruning.retain(vault, message, turn);
        break;
      case 'prune_continue':
      case 'prune_failed':
        if (vault) pruning.continue(vault, message, turn);
        break;
      default:
        message satisfies never;
    }
  }

  /** Handles a request. Null: the request is for a pruning; the reply is sent when this pruning ends, in this turn or a later one. */
  function call(opened: Vault, { request, presented, replyTo }: VaultCall, turn: Turn): VaultReply | null {
    const about = namedIn(request);
    if (presented !== adminDigestOf(opened)) {
      audit(turn, { ...about, actor: 'unknown', outcome: 'refused', code: 'unauthorized' });
      return { kind: 'refused', refusal: 'unauthorized' };
    }
    if (request.op === 'audit.prune') {
      const { beforeUs, through = Number.MAX_SAFE_INTEGER } = request;
      if (pruning.request(opened, { beforeUs, through, replyTo }, turn)) return null;
      audit(turn, { ...about, actor: 'admin', outcome: 'refused', code: 'unavailable' });
      return { kind: 'refused', refusal: 'unavailable' };
    }
    const decision = decide(opened, request, turn.nowUs, () => Buffer.from(random(secretBytes)).toString('base64url'));
    if (decision.kind === 'refused') {
      audit(turn, { ...about, actor: 'admin', outcome: 'refused', code: decision.refusal });
      return decision;
    }
    const wasDamaged = opened.isDamaged;
    for (const change of decision.changes) apply(opened, change, turn);
    if (wasDamaged) onHoldsChanged();
    audit(turn, { ...about, actor: 'admin', outcome: 'ok', code: null });
    if (decision.changes.length > 0) {
      secretsOf = new Map();
      observe(turn, about);
    }
    return { kind: 'done', ...decision.done };
  }

  function apply(opened: Vault, change: VaultChange, { batch }: Turn): void {
    switch (change.kind) {
      case 'principal':
        opened.putPrincipal(batch, change.principal);
        break;
      case 'secret':
        opened.putSecret(batch, change.secret);
        break;
      case 'purge':
        opened.removePrincipal(batch, change.name);
        break;
      case 'admin_token':
        opened.rotateAdmin(createHash('sha256').update(change.token).digest());
        break;
      default:
        change satisfies never;
    }
  }

  function audit(turn: Turn, record: NewAuditRecord): void {
    vault?.audit(turn.batch, { at: turn.nowUs, principal: null, secret: null, ...record });
  }

  function waitsFor(instance: string): string | null {
    if (isSealed) return sealed;
    return vault?.isDamaged ? damageTo(vault, instance) : null;
  }

  function deliver(turn: Turn, instance: string, ids: Uint8Array): Delivery | null {
    const reason = waitsFor(instance);
    if (reason !== null) throw new Error(`jobs of ${instance} were dispatched while the vault holds them: ${reason}`);
    if (!vault) return null;
    let own = secretsOf.get(instance);
    if (own === undefined) {
      own = instanceSecrets(vault, instance);
      secretsOf.set(instance, own);
    }
    if (!own) return null;
    const { delivery, names } = own;
    const jobs = rangesOf(ids);
    const about = { actor: 'dispatcher', op: 'deliver', principal: instance, jobs, secrets: names } as const;
    if (delivery.kind === 'secrets') audit(turn, { ...about, outcome: 'ok', code: null });
    else audit(turn, { ...about, outcome: 'refused', code: 'revoked_principal' });
    return delivery;
  }

  return {
    waitsFor,
    deliver,
    get state() {
      return committed;
    },
    receive: (message, turn) => handle(message as VaultMessage, turn),
    reconfigure() {
      if (vault) return;
      open();
      onHoldsChanged();
    },
    close(turn) {
      vault?.close(turn.batch);
      const status = statusOf(vault, isSealed);
      if (status.adminDigest === committed.adminDigest && status.isSealed === committed.isSealed) return;
      committed = status;
      turn.tell('edge', status);
    },
  };
}

const unavailable: VaultReply = { kind: 'refused', refusal: 'vault_unavailable' };

function statusOf(vault: Vault | null, isSealed: boolean): VaultStatus {
  return { kind: 'vault_status', isSealed, adminDigest: vault && adminDigestOf(vault) };
}

function adminDigestOf({ keyring }: Vault): string {
  return Buffer.from(keyring.adminDigest).toString('latin1');
}

/**
 * Why the jobs of an instance must wait: the record of its principal, or of a secret that may be granted to it, is damaged
 * (`Vault.damaged`). Null: they need not wait.
 */
function damageTo({ principals, damaged }: Vault, instance: string): string | null {
  if (damaged.vault_principals.has(instance)) return `the record of the principal ${instance} does not open`;
  const principal = principals.get(instance);
  if (principal?.kind !== 'plugin' || principal.status === 'revoked') return null;
  const [secret] = damaged.vault_secrets;
  if (secret === undefined) return null;
  return `the record of the secret ${secret} does not open, and it may be granted to ${instance}`;
}

/** The secrets of the instance. Null: no principal of the kind `plugin` has the instance's name, or no active secret is granted to it. */
function instanceSecrets(vault: Vault, instance: string): InstanceSecrets | null {
  const principal = vault.principals.get(instance);
  if (principal?.kind !== 'plugin') return null;
  if (principal.status === 'revoked') {
    const reason = `the principal ${instance} is revoked: its secrets are no longer delivered`;
    return { delivery: { kind: 'revoked', reason }, names: [] };
  }
  const granted = grantedTo(vault, instance);
  if (granted.length === 0) return null;
  const values = Object.fromEntries(granted.map(({ name, value }) => [name, value]));
  return { delivery: { kind: 'secrets', packed: pack(values) }, names: Object.keys(values).sort() };
}

/**
 * The operation and the named principal or secret of a request, for the audit trail and the event stream. An invalid name is left out,
 * because it may be anything, even the value of a secret.
 */
function namedIn(request: VaultRequest): Pick<AuditRecord, 'op' | 'principal' | 'secret'> {
  const name = 'name' in request && isName(request.name) ? request.name : null;
  const isPrincipal = request.op.startsWith('principal.');
  return { op: request.op, principal: isPrincipal ? name : null, secret: isPrincipal ? null : name };
}

function observe(turn: Turn, fields: ReturnType<typeof namedIn>): void {
  const group = { kind: 'plain', type: 'vault.changed', atUs: turn.nowUs, fields } as const;
  turn.tell('hub', { kind: 'observed', groups: [group] } satisfies Observed);
}
