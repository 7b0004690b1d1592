// An open vault in memory: what it holds, and the writes that keep the store the same. One commit has all of a change.
import { pack, unpack } from '../../runtime/packing.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import {
  type AuditRecord,
  appendAudit,
  auditStart,
  checkAuditEnd,
  readStretch,
  type Stretch,
  type StretchLimits,
  seqKey,
} from './records/audit.ts';
import { type Random, seal, unseal } from './records/barrier.ts';
import { type Keyring, keyringKey, readWrapped, unwrapKeyring, wrapKeyring } from './records/keyring.ts';
import type { Principal, Secret } from './records/secret.ts';
import type { Unlock } from './unlock-key.ts';

/** The tables of entities, and the table of contents: which version of each entity is the current one. */
const entityTables = ['vault_principals', 'vault_secrets'] as const;
type EntityTable = (typeof entityTables)[number];
type Contents = Record<EntityTable, { [name: string]: number }>;
type Entity = Principal | Secret;

const contentsName = 'contents';
const contentsKey = Buffer.from(contentsName);

/**
 * `sealed`: there is a vault, but it does not open. Each problem names what is not as it should be; those of an open vault are
 * records that do not open.
 */
export type Opening =
  | { readonly kind: 'absent' }
  | { readonly kind: 'sealed'; readonly problems: readonly string[] }
  | { readonly kind: 'open'; readonly vault: Vault; readonly problems: readonly string[] };

/** Reads all that the vault holds. */
export function openVault(reader: Reader, { key, file }: Unlock, random: Random): Opening {
  const wrapped = readWrapped(reader);
  if (!wrapped) return openWithoutKeyring(reader, file);
  if (typeof key === 'string') return sealedBy(key);
  const keyring = unwrapKeyring(key, wrapped);
  if (!keyring) return sealedBy(wrongKey);
  const contents = readContents(reader, keyring);
  if (!contents) return sealedBy('vault: the table of contents is not the one that the keyring names');
  const auditProblem = checkAuditEnd(reader, keyring);
  if (auditProblem !== null) return sealedBy(auditProblem);
  const vault = new Vault(key, keyring, contents, random);
  return { kind: 'open', vault, problems: readEntities(reader, vault, contents) };
}

function openWithoutKeyring(reader: Reader, keyFile: string | null): Opening {
  const missing = missingVault(reader, keyFile);
  return missing === null ? { kind: 'absent' } : sealedBy(missing);
}

function sealedBy(problem: string): Opening {
  return { kind: 'sealed', problems: [problem] };
}

export const wrongKey = 'vault: the keyring does not open with this unlock key';

/** Where there is no keyring: what shows that there has been a vault; null: nothing does. */
export function missingVault(reader: Reader, keyFile: string | null): string | null {
  if (hasRemains(reader)) return 'vault: the keyring is missing';
  return keyFile && `vault: the keyring is missing, and its unlock key is still there: ${keyFile}`;
}

/** Whether anything is there of a vault. */
export function hasRemains(reader: Reader): boolean {
  return (['vault', 'vault_audit', ...entityTables] as const).some(table => reader.count(table) > 0);
}

function readContents(reader: Reader, { dataKey, contents: version }: Keyring): Contents | null {
  const sealed = reader.get('vault', contentsKey);
  const packed = sealed && unseal(dataKey, { table: 'vault', name: contentsName, version }, sealed);
  return packed ? unpack<never>(packed) : null;
}

/** Names what is not as it was written last; the vault remembers it as damaged. */
function readEntities(reader: Reader, vault: Vault, contents: Contents): string[] {
  const problems: string[] = [];
  for (const table of entityTables) {
    const missing = new Set(Object.keys(contents[table]));
    for (const { key, value } of reader.scan(table, {})) {
      const name = Buffer.from(key).toString();
      const version = Object.hasOwn(contents[table], name) ? contents[table][name] : undefined;
      const packed = version === undefined ? null : unseal(vault.keyring.dataKey, { table, name, version }, value);
      missing.delete(name);
      if (packed) {
        vault.take(table, unpack<never>(packed));
        continue;
      }
      vault.damaged[table].add(name);
      if (version === undefined) problems.push(`${table}: ${JSON.stringify(name)} does not belong there`);
      else problems.push(`${table}: ${name} is not the record that was written last`);
    }
    for (const name of missing) {
      vault.damaged[table].add(name);
      problems.push(`${table}: ${name} is missing`);
    }
  }
  return problems;
}

export class Vault {
  readonly principals = new Map<string, Principal>();
  readonly secrets = new Map<string, Secret>();
  /** Names whose record does not open; written again it is whole. */
  readonly damaged: Record<EntityTable, Set<string>> = { vault_principals: new Set(), vault_secrets: new Set() };
  keyring: Keyring;
  readonly #unlockKey: Uint8Array;
  readonly #random: Random;
  readonly #contents: Contents;
  #isChanged = false;
  #isListed = true;

  constructor(unlockKey: Uint8Array, keyring: Keyring, contents: Contents, random: Random) {
    this.#unlockKey = unlockKey;
    this.keyring = keyring;
    this.#contents = contents;
    this.#random = random;
  }

  /** An empty one; it exists once `close` has written it. */
  static make(unlockKey: Uint8Array, keyring: Keyring, random: Random): Vault {
    const vault = new Vault(unlockKey, keyring, { vault_principals: {}, vault_secrets: {} }, random);
    vault.#isListed = false;
    return vault;
  }

  /** Takes over what was read. */
  take(table: EntityTable, entity: Entity): void {
    (this.#entities(table) as Map<string, Entity>).set(entity.name, entity);
  }

  /** Whether there are records that do not open. */
  get isDamaged(): boolean {
    return this.damaged.vault_principals.size + this.damaged.vault_secrets.size > 0;
  }

  putPrincipal(batch: Batch, principal: Principal): void {
    this.#put(batch, 'vault_principals', principal);
  }

  putSecret(batch: Batch, secret: Secret): void {
    this.#put(batch, 'vault_secrets', secret);
  }

  removePrincipal(batch: Batch, name: string): void {
    this.principals.delete(name);
    this.damaged.vault_principals.delete(name);
    delete this.#contents.vault_principals[name];
    this.#isListed = false;
    batch.remove('vault_principals', Buffer.from(name));
  }

  rotateAdmin(digest: Uint8Array): void {
    this.#change({ adminDigest: digest });
  }

  audit(batch: Batch, record: AuditRecord): void {
    this.#change({ auditEnd: appendAudit(batch, this.keyring, record) });
  }

  /** Verifies and removes the oldest records of the trail, at most so many. */
  prune(reader: Reader, batch: Batch, limits: StretchLimits, recordsMax: number): Stretch {
    const stretch = readStretch(reader, this.keyring, this.keyring.auditBase ?? auditStart, limits, recordsMax);
    for (const { seq } of stretch.entries) batch.remove('vault_audit', seqKey(seq));
    if (stretch.entries.length > 0) this.#change({ auditBase: stretch.end });
    return stretch;
  }

  /** Puts contents and keyring into the commit that changed something. */
  close(batch: Batch): void {
    if (!this.#isListed) {
      const version = this.#nextVersion();
      this.#change({ contents: version });
      const place = { table: 'vault', name: contentsName, version };
      batch.put('vault', contentsKey, seal(this.keyring.dataKey, place, pack(this.#contents), this.#random));
      this.#isListed = true;
    }
    if (!this.#isChanged) return;
    batch.put('vault', keyringKey, wrapKeyring(this.#unlockKey, this.keyring, this.#random));
    this.#isChanged = false;
  }

  /** The same vault under other keys: every record is sealed anew. */
  rekeyed(batch: Batch, unlockKey: Uint8Array, keys: Pick<Keyring, 'dataKey' | 'auditKeys'>): Vault {
    const fresh = Vault.make(unlockKey, { ...this.keyring, ...keys }, this.#random);
    for (const principal of this.principals.values()) fresh.putPrincipal(batch, principal);
    for (const secret of this.secrets.values()) fresh.putSecret(batch, secret);
    return fresh;
  }

  #put(batch: Batch, table: EntityTable, entity: Entity): void {
    const { name } = entity;
    const version = this.#nextVersion();
    this.take(table, entity);
    this.damaged[table].delete(name);
    this.#contents[table][name] = version;
    this.#isListed = false;
    const sealed = seal(this.keyring.dataKey, { table, name, version }, pack(entity), this.#random);
    batch.put(table, Buffer.from(name), sealed);
  }

  #entities(table: EntityTable): Map<string, Principal> | Map<string, Secret> {
    return table === 'vault_principals' ? this.principals : this.secrets;
  }

  #nextVersion(): number {
    const version = this.keyring.version + 1;
    this.#change({ version });
    return version;
  }

  #change(change: Partial<Keyring>): void {
    this.keyring = { ...this.keyring, ...change };
    this.#isChanged = true;
  }
}
