// The vault actor: the one hand that writes principals, secrets and the audit trail. What is audited commits with its effect.
import { createHash } from 'node:crypto';
import { formatId, jobIdBytes } from '../../runtime/ids.ts';
import { pack } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Actor, Turn } from '../../runtime/turn.ts';
import type { Observed } from '../hub/protocol.ts';
import type { AuditRecord } from './audit.ts';
import type { Random } from './barrier.ts';
import { type Change, rule } from './policy.ts';
import type { Deliver, Delivery, VaultCall, VaultMessage, VaultReply, VaultRequest, VaultState } from './protocol.ts';
import { isName } from './record.ts';
import { type Opening, openVault, type Vault } from './vault.ts';

export type VaultActorOptions = {
  readonly reader: Reader;
  /** The bytes of the unlock key, or why there are none. Asked at the start, and after a reload while nothing is open. */
  readonly readKey: () => Uint8Array | string;
  readonly random: Random;
  /** What is wrong with the vault, in words for the log. */
  readonly onSealed: (problems: readonly string[]) => void;
};

export type VaultActor = Actor & {
  /** For the job actor, within the turn. */
  readonly deliver: Deliver;
  /** As it is committed now. */
  readonly state: VaultState;
};

const mintedBytes = 32;
const closed: Delivery = {
  kind: 'closed',
  reason: 'the vault does not open: its secrets cannot be delivered',
  isPermanent: false,
};

/** What an instance gets, worked out once after each change. */
type Parcel = { readonly delivery: Delivery; readonly names: readonly string[] };

export function startVaultActor(options: VaultActorOptions): VaultActor {
  const { reader, random } = options;
  let opening: Opening = open();
  let vault: Vault | null = opening.kind === 'open' ? opening.vault : null;
  let parcels = new Map<string, Parcel | null>();
  let told = stateOf(vault);

  function open(): Opening {
    const found = openVault(reader, options.readKey(), random);
    if (found.kind === 'sealed') options.onSealed(found.problems);
    return found;
  }

  function reopen(): void {
    if (vault) return;
    opening = open();
    vault = opening.kind === 'open' ? opening.vault : null;
    parcels = new Map();
  }

  function handle(message: VaultMessage | { readonly kind: 'reconfigure' }, turn: Turn): void {
    switch (message.kind) {
      case 'call':
        turn.reply(message.replyTo, vault ? call(vault, message, turn) : unavailable);
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
      case 'reconfigure':
        reopen();
        break;
      default:
        message satisfies never;
    }
  }

  function call(held: Vault, { request, presented }: VaultCall, turn: Turn): VaultReply {
    const about = namedIn(request);
    if (presented !== stateOf(held).adminDigest) {
      audit(turn, { ...about, actor: 'unknown', outcome: 'refused', code: 'unauthorized' });
      return { kind: 'refused', refusal: 'unauthorized' };
    }
    const ruling = rule(held, request, turn.nowUs, () => Buffer.from(random(mintedBytes)).toString('base64url'));
    if (ruling.kind === 'refused') {
      audit(turn, { ...about, actor: 'admin', outcome: 'refused', code: ruling.refusal });
      return ruling;
    }
    for (const change of ruling.changes) apply(held, change, turn);
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

  function deliver(turn: Turn, instance: string, ids: Uint8Array): Delivery | null {
    if (opening.kind === 'absent') return null;
    if (!vault) return closed;
    let parcel = parcels.get(instance);
    if (parcel === undefined) {
      parcel = parcelOf(vault, instance);
      parcels.set(instance, parcel);
    }
    if (!parcel) return null;
    const { delivery, names } = parcel;
    const isOpen = delivery.kind === 'secrets';
    for (let at = 0; at < ids.length; at += jobIdBytes) {
      const actor = `job:${formatId(ids.subarray(at, at + jobIdBytes))}`;
      const about = { actor, op: 'deliver', principal: instance } as const;
      for (const secret of names) audit(turn, { ...about, secret, outcome: 'ok', code: null });
      if (!isOpen) audit(turn, { ...about, outcome: 'refused', code: 'revoked_principal' });
    }
    return delivery;
  }

  return {
    deliver,
    get state() {
      return told;
    },
    receive(messages, turn) {
      for (const message of messages) handle(message as VaultMessage, turn);
    },
    quiet(turn) {
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

/** Null: there is no such principal, or nothing is granted to it. */
function parcelOf({ principals, secrets }: Vault, instance: string): Parcel | null {
  const principal = principals.get(instance);
  if (principal?.kind !== 'plugin') return null;
  if (principal.status === 'revoked') {
    const reason = `the principal ${instance} is revoked: its secrets are no longer delivered`;
    return { delivery: { kind: 'closed', reason, isPermanent: true }, names: [] };
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
  const name = isName(request.name) ? request.name : null;
  const isPrincipal = request.op.startsWith('principal.');
  return { op: request.op, principal: isPrincipal ? name : null, secret: isPrincipal ? null : name };
}

function observe(turn: Turn, fields: ReturnType<typeof namedIn>): void {
  const group = { kind: 'plain', type: 'vault.changed', atUs: turn.nowUs, fields } as const;
  turn.tell('hub', { kind: 'observed', groups: [group] } satisfies Observed);
}
