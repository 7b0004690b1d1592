// An open vault in memory: what it holds, and the writes that keep the store the same. One commit has all of a change.
import { pack, unpack } from '../../runtime/packing.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import { type AuditRecord, appendAudit, checkAuditEnd } from './audit.ts';
import { type Random, seal, unseal } from './barrier.ts';
import { type Keyring, keyringKey, readWrapped, unwrapKeyring, wrapKeyring } from './keyring.ts';
import type { Principal, Secret } from './record.ts';

/** The tables of entities, and the table of contents: which version of each entity is the current one. */
const entityTables = ['vault_principals', 'vault_secrets'] as const;
type EntityTable = (typeof entityTables)[number];
type Contents = Record<EntityTable, { [name: string]: number }>;
type Entity = Principal | Secret;

const contentsName = 'contents';
const contentsKey = Buffer.from(contentsName);

/** `sealed`: there is a vault, but it does not open; each problem names what is not as it should be. */
export type Opening =
  | { readonly kind: 'absent' }
  | { readonly kind: 'sealed'; readonly problems: readonly string[] }
  | { readonly kind: 'open'; readonly vault: Vault };

/** Reads all that the vault holds. `unlockKey`: its bytes, or why there are none. */
export function openVault(reader: Reader, unlockKey: Uint8Array | string, random: Random): Opening {
  const wrapped = readWrapped(reader);
  if (!wrapped) return hasRemains(reader) ? sealedBy(keyringMissing) : { kind: 'absent' };
  if (typeof unlockKey === 'string') return sealedBy(unlockKey);
  const keyring = unwrapKeyring(unlockKey, wrapped);
  if (!keyring) return sealedBy('vault: the keyring does not open with this unlock key');
  const contents = readContents(reader, keyring);
  if (!contents) return sealedBy('vault: the table of contents is not the one that the keyring names');
  const problems: string[] = [];
  const vault = new Vault(unlockKey, keyring, contents, random);
  readEntities(reader, vault, contents, problems);
  const auditProblem = checkAuditEnd(reader, keyring);
  if (auditProblem !== null) problems.push(auditProblem);
  return problems.length > 0 ? { kind: 'sealed', problems } : { kind: 'open', vault };
}

function sealedBy(problem: string): Opening {
  return { kind: 'sealed', problems: [problem] };
}

export const keyringMissing = 'vault: the keyring is missing';

/** Whether anything is there of a vault. */
export function hasRemains(reader: Reader): boolean {
  return (['vault', 'vault_audit', ...entityTables] as const).some(table => reader.count(table) > 0);
}

function readContents(reader: Reader, { dataKey, contents: version }: Keyring): Contents | null {
  const sealed = reader.get('vault', contentsKey);
  const packed = sealed && unseal(dataKey, { table: 'vault', name: contentsName, version }, sealed);
  return packed ? unpack<never>(packed) : null;
}

function readEntities(reader: Reader, vault: Vault, contents: Contents, problems: string[]): void {
  for (const table of entityTables) {
    const missing = new Set(Object.keys(contents[table]));
    for (const { key, value } of reader.scan(table, {})) {
      const name = Buffer.from(key).toString();
      const version = Object.hasOwn(contents[table], name) ? contents[table][name] : undefined;
      const packed = version === undefined ? null : unseal(vault.keyring.dataKey, { table, name, version }, value);
      missing.delete(name);
      if (packed) vault.take(table, unpack<never>(packed));
      else if (version === undefined) problems.push(`${table}: ${JSON.stringify(name)} does not belong there`);
      else problems.push(`${table}: ${name} is not the record that was written last`);
    }
    for (const name of missing) problems.push(`${table}: ${name} is missing`);
  }
}

export class Vault {
  readonly principals = new Map<string, Principal>();
  readonly secrets = new Map<string, Secret>();
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

  putPrincipal(batch: Batch, principal: Principal): void {
    this.#put(batch, 'vault_principals', principal);
  }

  putSecret(batch: Batch, secret: Secret): void {
    this.#put(batch, 'vault_secrets', secret);
  }

  removePrincipal(batch: Batch, name: string): void {
    this.principals.delete(name);
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
