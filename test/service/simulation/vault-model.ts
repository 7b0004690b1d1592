// What the vault should hold, kept as plain maps from its answers, and compared with what it delivers.
import { createHash } from 'node:crypto';
import type { VaultReply, VaultRequest } from '../../../actors/vault/protocol.ts';
import { auditStart, walkAudit } from '../../../actors/vault/records/audit.ts';
import type { Keyring } from '../../../actors/vault/records/keyring.ts';
import type { Unlock } from '../../../actors/vault/unlock-key.ts';
import { openVault, Vault } from '../../../actors/vault/vault.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { WriteBatch } from '../../../runtime/store/batch.ts';
import type { Batch, Store } from '../../../runtime/store/store.ts';
import { Broken, holds } from './broken.ts';
import type { Dice } from './dice.ts';

/** The length of the code before each record of the trail. */
const auditCodeBytes = 32;

type Secret = { readonly value: string | null; readonly grants: readonly string[]; readonly isAuto: boolean };

export class VaultModel {
  readonly adminDigest = createHash('sha256').update('admin').digest().toString('latin1');
  /** Whether the process that runs now has no key. */
  isLocked = false;
  /** Whether the vault is open in this process. */
  isOpen = true;
  readonly #store: Store;
  readonly #dice: Dice;
  readonly #key: Buffer;
  #principals = new Map<string, { readonly kind: string; readonly isRevoked: boolean }>();
  #secrets = new Map<string, Secret>();
  /** Whether a call was answered in this turn. */
  #isChanged = false;

  constructor(store: Store, dice: Dice) {
    this.#store = store;
    this.#dice = dice;
    this.#key = dice.bytes(32);
    const auditKeys = [{ from: 1, key: dice.bytes(32) }];
    const adminDigest = Buffer.from(this.adminDigest, 'latin1');
    const keyring: Keyring = {
      dataKey: dice.bytes(32),
      auditKeys,
      adminDigest,
      version: 0,
      contents: 0,
      auditEnd: auditStart,
    };
    const vault = Vault.make(this.#key, keyring, count => dice.bytes(count));
    const batch = store.batch();
    for (const name of ['keeper', 'a', 'program']) {
      vault.putPrincipal(batch, { name, kind: 'plugin', status: 'active', createdUs: 1, changedUs: 1 });
    }
    vault.putSecret(batch, {
      name: 'one',
      pattern: 'manual',
      status: 'active',
      value: 'first',
      grants: ['keeper'],
      createdUs: 1,
      changedUs: 1,
    });
    vault.close(batch);
    store.commit(batch);
    this.reread();
  }

  readonly unlock = (): Unlock => {
    this.isOpen = !this.isLocked;
    return { key: this.isLocked ? 'the key is gone' : this.#key, file: null };
  };

  /** Takes over what is on disk: after the end of a process, it is not known which of its last calls were carried out. */
  reread(): void {
    const { principals, secrets } = this.#opened();
    this.#principals = new Map(
      [...principals].map(([name, { kind, status }]) => [name, { kind, isRevoked: status === 'revoked' }]),
    );
    this.#secrets = new Map(
      [...secrets].map(([name, { value, grants, pattern }]) => [name, { value, grants, isAuto: pattern === 'auto' }]),
    );
  }

  #opened(): Vault {
    const opening = openVault(this.#store, { key: this.#key, file: null }, count => this.#dice.bytes(count));
    if (opening.kind !== 'open') throw new Broken(`the vault on disk is ${opening.kind}: ${JSON.stringify(opening)}`);
    holds(opening.problems.length === 0, () => `the vault on disk: ${opening.problems.join('; ')}`);
    return opening.vault;
  }

  answered(request: VaultRequest, isAdmin: boolean, reply: VaultReply): void {
    if (reply.kind !== 'done') return;
    holds(isAdmin, () => `a call without the admin token was done: ${request.op}`);
    this.#apply(request);
    this.#isChanged = true;
  }

  /** After a turn: answered changes must be on disk. */
  settle(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const { principals, secrets } = this.#opened();
    const found = [...principals.values()].map(({ name, kind, status }) => `${name} ${kind} ${status}`);
    const known = [...this.#principals].map(
      ([name, { kind, isRevoked }]) => `${name} ${kind} ${isRevoked ? 'revoked' : 'active'}`,
    );
    holds(
      found.sort().join() === known.sort().join(),
      () => `the vault has ${found.join()}, and was told ${known.join()}`,
    );
    for (const [name, { value, isAuto, grants }] of this.#secrets) {
      const there = secrets.get(name);
      const isSame =
        there?.grants.join() === grants.join() &&
        (isAuto ? (there.value === null) === (value === null) : there.value === value);
      holds(isSame, () => `the secret ${name} is not on disk as it was answered`);
    }
  }

  #apply(request: VaultRequest): void {
    if (!('name' in request)) return;
    const { name } = request;
    const secret = this.#secrets.get(name);
    switch (request.op) {
      case 'principal.register':
        if (!this.#principals.has(name)) this.#principals.set(name, { kind: request.principalKind, isRevoked: false });
        break;
      case 'principal.revoke':
        this.#principals.set(name, { ...this.#principals.get(name)!, isRevoked: true });
        break;
      case 'principal.purge':
        this.#principals.delete(name);
        for (const [each, { grants, ...rest }] of this.#secrets) {
          this.#secrets.set(each, { ...rest, grants: grants.filter(grant => grant !== name) });
        }
        break;
      case 'secret.set':
        this.#secrets.set(name, {
          value: request.value ?? secret?.value ?? '',
          grants: request.grants ?? secret?.grants ?? [],
          isAuto: request.pattern === undefined ? (secret?.isAuto ?? false) : request.pattern === 'auto',
        });
        break;
      case 'secret.roll':
        if (!secret!.isAuto) this.#secrets.set(name, { ...secret!, value: request.value! });
        break;
      case 'secret.revoke':
        this.#secrets.set(name, { ...secret!, value: null });
        break;
    }
  }

  /** Checks a frame of the plugin that is sent with these secrets. */
  delivered(instance: string, packed: Uint8Array | undefined): void {
    holds(this.isOpen, () => `a frame of ${instance} leaves while the vault is sealed`);
    const principal = this.#principals.get(instance);
    holds(
      principal?.isRevoked !== true || principal.kind !== 'plugin',
      () => `a frame of ${instance} leaves, whose principal is revoked`,
    );
    const given = packed ? unpack<Record<string, string>>(packed) : {};
    const granted = [...this.#secrets].filter(
      ([, { value, grants }]) => principal?.kind === 'plugin' && value !== null && grants.includes(instance),
    );
    const wanted = granted.map(([name]) => name).sort();
    const names = Object.keys(given).sort();
    holds(
      names.join() === wanted.join(),
      () => `${instance} gets the secrets ${names.join()}, and is granted ${wanted.join()}`,
    );
    for (const [name, { value, isAuto }] of granted) {
      holds(isAuto || given[name] === value, () => `${instance} gets another value of ${name} than was set`);
    }
  }

  /** Whether a commit prunes records of the trail. All of them must be from before this time. */
  prunes(batch: Batch, beforeUs: number): boolean {
    const { tables, keys, values } = batch as WriteBatch;
    let prunes = false;
    for (const [place, table] of tables.entries()) {
      if (table !== 'vault_audit' || values[place] !== undefined) continue;
      prunes = true;
      const record = this.#store.get(table, keys[place]!)!.subarray(auditCodeBytes);
      const { at } = JSON.parse(Buffer.from(record).toString()) as { readonly at: number };
      holds(at < beforeUs, () => `the trail loses its record of ${at}, and keeps what is not from before ${beforeUs}`);
    }
    return prunes;
  }

  /** Checks that the audit trail is whole up to its anchor. */
  verify(): void {
    const { keyring } = this.#opened();
    const walk = walkAudit(this.#store, () => keyring);
    let step = walk.next();
    while (!step.done) step = walk.next();
    const broken = step.value;
    holds(broken === null, () => `the audit trail: ${broken}`);
  }
}
