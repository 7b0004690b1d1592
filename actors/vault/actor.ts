// The vault actor: it alone writes principals, secrets and the audit trail. An effect and its audit are one commit.
import { createHash } from 'node:crypto';
import { pack } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Actor, Turn } from '../../runtime/turn.ts';
import type { Observed } from '../hub/protocol.ts';
import { type Change, rule } from './policy.ts';
import type {
  Delivery,
  VaultCall,
  VaultCalls,
  VaultMessage,
  VaultReply,
  VaultRequest,
  VaultState,
} from './protocol.ts';
import type { AuditRecord } from './records/audit.ts';
import type { Random } from './records/barrier.ts';
import { rangesOf } from './records/job-ranges.ts';
import { isName } from './records/secret.ts';
import { type SweepOptions, Sweeps } from './sweep.ts';
import type { Unlock } from './unlock-key.ts';
import { type Opening, openVault, type Vault } from './vault.ts';

export type VaultActorOptions = Omit<SweepOptions, 'audit'> & {
  readonly reader: Reader;
  /** Asked at the start, and at each reload while no vault is open. */
  readonly readUnlock: () => Unlock;
  readonly random: Random;
  readonly onOpened: (opening: Opening) => void;
  /** `waitsFor` has changed its answers. */
  readonly onHoldsChanged?: () => void;
};

export type VaultActor = Actor &
  VaultCalls & {
    /** As it is committed now. */
    readonly state: VaultState;
    /** The configuration was read again: a vault that does not open is tried again. */
    reconfigure(): void;
    /** Writes the anchor of what the turn changed and delivered. */
    close(turn: Turn): void;
  };

const mintedBytes = 32;
const sealed = 'the vault does not open: nothing is handed out until it does';

/** What an instance gets, worked out once after each change. */
type Parcel = { readonly delivery: Delivery; readonly names: readonly string[] };

export function startVaultActor(options: VaultActorOptions): VaultActor {
  const { reader, random, onHoldsChanged = () => {} } = options;
  let isSealed = false;
  let vault: Vault | null = null;
  let parcels = new Map<string, Parcel | null>();
  const sweeps = new Sweeps({ ...options, audit });
  open();
  let told = stateOf(vault);

  function open(): void {
    const opening = openVault(reader, options.readUnlock(), random);
    isSealed = opening.kind === 'sealed';
    vault = opening.kind === 'open' ? opening.vault : null;
    parcels = new Map();
    options.onOpened(opening);
  }

  function handle(message: VaultMessage, turn: Turn): void {
    switch (message.kind) {
      case 'call':
        answer(message, turn);
        break;
      case 'refused_call':
        audit(turn, { actor: 'admin', op: message.op, outcome: 'refused', code: message.code });
        turn.reply(message.replyTo, { kind: 'recorded' });
        break;
      case 'strange_calls':
        for (const [op, count] of message.counts) {
          audit(turn, { actor: 'unknown', op, outcome: 'refused', code: 'unauthorized', count });
        }
        break;
      case 'prune_audit':
        if (vault) sweeps.retain(vault, message, turn);
        break;
      case 'sweep_on':
      case 'sweep_failed':
        if (vault) sweeps.goOn(vault, message, turn);
        break;
      default:
        message satisfies never;
    }
  }

  function answer(message: VaultCall, turn: Turn): void {
    const reply = vault ? call(vault, message, turn) : unavailable;
    if (reply !== null) turn.reply(message.replyTo, reply);
  }

  /** Null: it is answered later. */
  function call(held: Vault, { request, presented, replyTo }: VaultCall, turn: Turn): VaultReply | null {
    const about = namedIn(request);
    if (presented !== stateOf(held).adminDigest) {
      audit(turn, { ...about, actor: 'unknown', outcome: 'refused', code: 'unauthorized' });
      return { kind: 'refused', refusal: 'unauthorized' };
    }
    if (request.op === 'audit.prune') {
      const { beforeUs, through = Number.MAX_SAFE_INTEGER } = request;
      if (sweeps.ask(held, { beforeUs, through }, replyTo, turn)) return null;
      audit(turn, { ...about, actor: 'admin', outcome: 'refused', code: 'unavailable' });
      return { kind: 'refused', refusal: 'unavailable' };
    }
    const ruling = rule(held, request, turn.nowUs, () => Buffer.from(random(mintedBytes)).toString('base64url'));
    if (ruling.kind === 'refused') {
      audit(turn, { ...about, actor: 'admin', outcome: 'refused', code: ruling.refusal });
      return ruling;
    }
    const wasDamaged = held.isDamaged;
    for (const change of ruling.changes) apply(held, change, turn);
    if (wasDamaged) onHoldsChanged();
    audit(turn, { ...about, actor: 'admin', outcome: 'ok', code: null });
    if (ruling.changes.length > 0) {
      parcels = new Map();
      observe(turn, about);
    }
    return { kind: 'done', ...ruling.done };
  }

  function apply(held: Vault, change: Change, { batch }: Turn): void {
    switch (change.kind) {
      case 'principal':
        held.putPrincipal(batch, change.principal);
        break;
      case 'secret':
        held.putSecret(batch, change.secret);
        break;
      case 'purge':
        held.removePrincipal(batch, change.name);
        break;
      case 'admin_token':
        held.rotateAdmin(createHash('sha256').update(change.token).digest());
        break;
      default:
        change satisfies never;
    }
  }

  function audit(
    turn: Turn,
    record: Pick<AuditRecord, 'actor' | 'op' | 'outcome' | 'code'> & Partial<AuditRecord>,
  ): void {
    vault?.audit(turn.batch, { at: turn.nowUs, principal: null, secret: null, ...record });
  }

  function waitsFor(instance: string): string | null {
    if (isSealed) return sealed;
    return vault?.isDamaged ? damageTo(vault, instance) : null;
  }

  function deliver(turn: Turn, instance: string, ids: Uint8Array): Delivery | null {
    const reason = waitsFor(instance);
    if (reason !== null) throw new Error(`jobs of ${instance} were handed out: ${reason}`);
    if (!vault) return null;
    let parcel = parcels.get(instance);
    if (parcel === undefined) {
      parcel = parcelOf(vault, instance);
      parcels.set(instance, parcel);
    }
    if (!parcel) return null;
    const { delivery, names } = parcel;
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
      return told;
    },
    receive: (message, turn) => handle(message as VaultMessage, turn),
    reconfigure() {
      if (vault) return;
      open();
      onHoldsChanged();
    },
    close(turn) {
      vault?.close(turn.batch);
      const state = stateOf(vault);
      if (state.adminDigest === told.adminDigest) return;
      told = state;
      turn.tell('edge', state);
    },
  };
}

const unavailable: VaultReply = { kind: 'refused', refusal: 'vault_unavailable' };

function stateOf(vault: Vault | null): VaultState {
  return { kind: 'vault_state', adminDigest: vault && Buffer.from(vault.keyring.adminDigest).toString('latin1') };
}

/** Why an instance must wait: its principal does not open, or a secret does not, which may be granted to it. */
function damageTo({ principals, damaged }: Vault, instance: string): string | null {
  if (damaged.vault_principals.has(instance)) return `the record of the principal ${instance} does not open`;
  const principal = principals.get(instance);
  if (principal?.kind !== 'plugin' || principal.status === 'revoked') return null;
  const [secret] = damaged.vault_secrets;
  return secret === undefined
    ? null
    : `the record of the secret ${secret} does not open, nor tell whether it is granted`;
}

/** Null: there is no such principal, or nothing is granted to it. */
function parcelOf({ principals, secrets }: Vault, instance: string): Parcel | null {
  const principal = principals.get(instance);
  if (principal?.kind !== 'plugin') return null;
  if (principal.status === 'revoked') {
    const reason = `the principal ${instance} is revoked: its secrets are no longer delivered`;
    return { delivery: { kind: 'revoked', reason }, names: [] };
  }
  const granted = [...secrets.values()].filter(
    ({ status, grants }) => status === 'active' && grants.includes(instance),
  );
  if (granted.length === 0) return null;
  const values = Object.fromEntries(granted.map(({ name, value }) => [name, value]));
  return { delivery: { kind: 'secrets', packed: pack(values) }, names: Object.keys(values).sort() };
}

/** Whom a request is about, for audit and observers; what is no name may be anything and is left out. */
function namedIn(request: VaultRequest): Pick<AuditRecord, 'op' | 'principal' | 'secret'> {
  if (!('name' in request)) return { op: request.op, principal: null, secret: null };
  const name = isName(request.name) ? request.name : null;
  const isPrincipal = request.op.startsWith('principal.');
  return { op: request.op, principal: isPrincipal ? name : null, secret: isPrincipal ? null : name };
}

function observe(turn: Turn, fields: ReturnType<typeof namedIn>): void {
  const group = { kind: 'plain', type: 'vault.changed', atUs: turn.nowUs, fields } as const;
  turn.tell('hub', { kind: 'observed', groups: [group] } satisfies Observed);
}
