// An open vault in memory. Each change of its contents is also written to the store.
import { pack, unpack } from '../../runtime/packing.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import {
  type AuditRecord,
  type AuditSegment,
  appendAudit,
  auditStart,
  checkAuditEnd,
  readSegment,
  type SegmentLimits,
  seqKey,
} from './records/audit.ts';
import { type Random, seal, unseal } from './records/barrier.ts';
import { type Keyring, keyringKey, readWrapped, unwrapKeyring, wrapKeyring } from './records/keyring.ts';
import type { Principal, Secret } from './records/secret.ts';
import type { Unlock } from './unlock-key.ts';

const recordTables = ['vault_principals', 'vault_secrets'] as const;
type RecordTable = (typeof recordTables)[number];
type VaultRecord = Principal | Secret;
/** The table of contents: the current version of each record. */
type Contents = Record<RecordTable, { [name: string]: number }>;

const contentsName = 'contents';
const contentsKey = Buffer.from(contentsName);

/**
 * The result of opening a vault. `absent`: there is no vault. `sealed`: the vault does not open. `problems`: why the vault is sealed, or
 * which records of an open vault do not open or are missing.
 */
export type Opening =
  | { readonly kind: 'absent' }
  | { readonly kind: 'sealed'; readonly problems: readonly string[] }
  | { readonly kind: 'open'; readonly vault: Vault; readonly problems: readonly string[] };

/** Opens the vault, and reads each of its records. */
export function openVault(reader: Reader, unlock: Unlock, random: Random): Opening {
  const keyring = openKeyring(reader, unlock);
  if (keyring === null) return { kind: 'absent' };
  if (!isKeyring(keyring)) return sealedBy(keyring);
  const contents = readContents(reader, keyring);
  if (!contents) return sealedBy('vault: the table of contents is not the one that the keyring names');
  const auditProblem = checkAuditEnd(reader, keyring);
  if (auditProblem !== null) return sealedBy(auditProblem);
  const vault = new Vault(unlock.key as Uint8Array, keyring, contents, random);
  return { kind: 'open', vault, problems: readRecords(reader, vault, contents) };
}

function sealedBy(problem: string): Opening {
  return { kind: 'sealed', problems: [problem] };
}

/** The keyring, or why it does not open; null: there is no vault. */
export function openKeyring(reader: Reader, { key, file }: Unlock): Keyring | string | null {
  const wrapped = readWrapped(reader);
  if (!wrapped) {
    if (hasRecords(reader)) return 'vault: the keyring is missing';
    return file && `vault: the keyring is missing, but its unlock key exists: ${file}`;
  }
  if (typeof key === 'string') return key;
  return unwrapKeyring(key, wrapped) ?? 'vault: the keyring does not open with this unlock key';
}

export function isKeyring(found: Keyring | string | null): found is Keyring {
  return found !== null && typeof found !== 'string';
}

/** Whether the store has any record of a vault. */
export function hasRecords(reader: Reader): boolean {
  return (['vault', 'vault_audit', ...recordTables] as const).some(table => reader.count(table) > 0);
}

function readContents(reader: Reader, { dataKey, contents: version }: Keyring): Contents | null {
  const sealed = reader.get('vault', contentsKey);
  const packed = sealed && unseal(dataKey, { table: 'vault', name: contentsName, version }, sealed);
  return packed ? unpack<never>(packed) : null;
}

/**
 * Reads every principal and secret into the vault. Returns a problem for each record that is missing, is not in the table of contents, or is
 * not the version that was written last. The vault lists the names of these records as damaged.
 */
function readRecords(reader: Reader, vault: Vault, contents: Contents): string[] {
  const problems: string[] = [];
  for (const table of recordTables) {
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
      if (version === undefined) problems.push(`${table}: ${JSON.stringify(name)} is not in the table of contents`);
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
  /** The names of records that do not open or are missing. A write replaces such a record. */
  readonly damaged: Record<RecordTable, Set<string>> = { vault_principals: new Set(), vault_secrets: new Set() };
  keyring: Keyring;
  readonly #unlockKey: Uint8Array;
  readonly #random: Random;
  readonly #contents: Contents;
  /** Whether the keyring must be written. */
  #isChanged = false;
  /** Whether the written table of contents is up to date. */
  #isListed = true;

  constructor(unlockKey: Uint8Array, keyring: Keyring, contents: Contents, random: Random) {
    this.#unlockKey = unlockKey;
    this.keyring = keyring;
    this.#contents = contents;
    this.#random = random;
  }

  /** Makes an empty vault, which `close` writes to the store. */
  static make(unlockKey: Uint8Array, keyring: Keyring, random: Random): Vault {
    const vault = new Vault(unlockKey, keyring, { vault_principals: {}, vault_secrets: {} }, random);
    vault.#isListed = false;
    return vault;
  }

  /** Sets a principal or secret in memory only. */
  take(table: RecordTable, record: VaultRecord): void {
    (this.#recordsOf(table) as Map<string, VaultRecord>).set(record.name, record);
  }

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

  /** Verifies and removes at most `recordsMax` of the oldest records of the trail. */
  prune(reader: Reader, batch: Batch, limits: SegmentLimits, recordsMax: number): AuditSegment {
    const segment = readSegment(reader, this.keyring, this.keyring.auditBase ?? auditStart, limits, recordsMax);
    for (const { seq } of segment.entries) batch.remove('vault_audit', seqKey(seq));
    if (segment.entries.length > 0) this.#change({ auditBase: segment.end });
    return segment;
  }

  /** Adds the table of contents and the keyring to the batch if they changed. */
  close(batch: Batch): void {
    if (!this.#isListed) {
      const version = this.#nextVersion();
      this.#change({ contents: version });
      const name = { table: 'vault', name: contentsName, version };
      batch.put('vault', contentsKey, seal(this.keyring.dataKey, name, pack(this.#contents), this.#random));
      this.#isListed = true;
    }
    if (!this.#isChanged) return;
    batch.put('vault', keyringKey, wrapKeyring(this.#unlockKey, this.keyring, this.#random));
    this.#isChanged = false;
  }

  /** Returns a copy of this vault with new keys. Adds its principals and secrets, sealed under the new data key, to the batch. */
  rekeyed(batch: Batch, unlockKey: Uint8Array, keys: Pick<Keyring, 'dataKey' | 'auditKeys'>): Vault {
    const fresh = Vault.make(unlockKey, { ...this.keyring, ...keys }, this.#random);
    for (const principal of this.principals.values()) fresh.putPrincipal(batch, principal);
    for (const secret of this.secrets.values()) fresh.putSecret(batch, secret);
    return fresh;
  }

  #put(batch: Batch, table: RecordTable, record: VaultRecord): void {
    const { name } = record;
    const version = this.#nextVersion();
    this.take(table, record);
    this.damaged[table].delete(name);
    this.#contents[table][name] = version;
    this.#isListed = false;
    const sealed = seal(this.keyring.dataKey, { table, name, version }, pack(record), this.#random);
    batch.put(table, Buffer.from(name), sealed);
  }

  #recordsOf(table: RecordTable): Map<string, Principal> | Map<string, Secret> {
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
