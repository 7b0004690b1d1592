// The audit trail is a chain of records. Each record has a code: a keyed hash over the record and the code of the
// record before it. The keyring has the number and the code of the last record.
//
//   key: seq (8)    value: code (32) | the record as JSON
import { createHmac } from 'node:crypto';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { type AuditEnd, auditKeyOf, type Keyring } from './keyring.ts';

/**
 * A record of one of the following: a call; a `headgate vault` command; the delivery of secrets to the jobs of one frame, or its refusal;
 * a number of calls without the admin token; the removal of audit records in one commit of a pruning. In trails of earlier versions, each
 * secret that was delivered to a job has a record of its own, with `job:<id>` as the actor.
 */
export type AuditRecord = {
  /**
   * When the record was written, in µs since the epoch. The record of `vault.abandon` in a new trail has the time of
   * the abandonment instead.
   */
  readonly at: number;
  /** Who acted: `admin`, `unknown`, `command`, `dispatcher`, `retention`, or `job:<id>`. */
  readonly actor: string;
  readonly op: string;
  readonly principal: string | null;
  readonly secret: string | null;
  readonly outcome: 'ok' | 'refused';
  /** Why the call or delivery was refused. Null: it was not refused. */
  readonly code: string | null;
  /** The number of calls (absent: one), or the number of records that a pruning removed in this commit. */
  readonly count?: number;
  /** The number of the newest record that a pruning removed in this commit. */
  readonly through?: number;
  /** The jobs to which secrets were delivered, or refused (job-ranges.ts). */
  readonly jobs?: readonly string[];
  /** The names of the delivered secrets. */
  readonly secrets?: readonly string[];
};

/** The fields of a new record. The writer adds the time, and null for an absent principal or secret. */
export type NewAuditRecord = Pick<AuditRecord, 'actor' | 'op' | 'outcome' | 'code'> & Partial<AuditRecord>;

/** A stored record and its code. */
export type AuditEntry = AuditEnd & { readonly json: Uint8Array };

export const codeBytes = 32;
const pageSize = 256;
/** The maximum size of an `AuditSegment`, in bytes of JSON. A segment with a single record may be larger. */
const segmentBytesMax = 1 << 20;

/** The end of an empty trail. */
export const auditStart: AuditEnd = { seq: 0, code: new Uint8Array(codeBytes) };

export function seqKey(seq: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeBigUInt64BE(BigInt(seq));
  return key;
}

/** The number of the record with this key; NaN if the key is invalid. */
function seqOf(key: Uint8Array): number {
  return key.length === 8 ? Number(Buffer.from(key).readBigUInt64BE()) : Number.NaN;
}

export function recordOf({ json }: Pick<AuditEntry, 'json'>): AuditRecord {
  return JSON.parse(Buffer.from(json).toString());
}

/** The code of a record. `previous`: the code of the record before it. */
export function codeOf(keyring: Keyring, previous: Uint8Array, seq: number, json: Uint8Array): Buffer {
  return createHmac('sha256', auditKeyOf(keyring, seq)).update(previous).update(seqKey(seq)).update(json).digest();
}

/** Writes the next record, and returns the new end of the trail. The same commit must write a keyring with this end. */
export function appendAudit(batch: Batch, keyring: Keyring, record: AuditRecord): AuditEnd {
  const seq = keyring.auditEnd.seq + 1;
  const json = Buffer.from(JSON.stringify(record));
  const code = codeOf(keyring, keyring.auditEnd.code, seq, json);
  batch.put('vault_audit', seqKey(seq), Buffer.concat([code, json]));
  return { seq, code };
}

/** The fault if the trail does not end with the record that the keyring names. Null: no fault. */
export function checkAuditEnd(reader: Reader, { auditEnd: { seq, code } }: Keyring): string | null {
  const newest = Array.from(reader.scan('vault_audit', { reverse: true, limit: 1 }))[0];
  const newestSeq = newest ? seqOf(newest.key) : 0;
  if (newestSeq !== seq) return endProblem(newestSeq, seq);
  const isSame = !newest || Buffer.compare(newest.value.subarray(0, codeBytes), code) === 0;
  return isSame ? null : `vault_audit: record ${seq} is not the one that the keyring names`;
}

function endProblem(newest: number, anchored: number): string {
  if (Number.isNaN(newest)) return 'vault_audit: the newest record has an invalid key';
  return newest < anchored
    ? `vault_audit: records ${newest + 1} to ${anchored} are missing`
    : `vault_audit: there are records after ${anchored}, where the trail ends according to the keyring`;
}

/** The time `at` of the oldest record, in µs. Null: there is no record, or the oldest one cannot be read. */
export function oldestAuditUs(reader: Reader): number | null {
  for (const { value } of reader.scan('vault_audit', { limit: 1 }))
    return readable(() => recordOf({ json: value.subarray(codeBytes) }).at) ?? null;
  return null;
}

/**
 * The limits of an `AuditSegment`: the segment ends before the first record that was written at `beforeUs` or later, or with the record
 * `through`, whichever comes first.
 */
export type SegmentLimits = { readonly beforeUs: number; readonly through: number };

/**
 * Adjacent records that verify. `end`: the last of these records; if there are none, the record after which the segment begins. `broken`:
 * why the record after `end` does not verify; null: this record verifies, or was not examined.
 */
export type AuditSegment = {
  readonly entries: readonly AuditEntry[];
  readonly end: AuditEnd;
  readonly broken: string | null;
};

/** Reads and verifies at most `recordsMax` records after `after`, except the newest record of the trail, which is never pruned. */
export function readSegment(
  reader: Reader,
  keyring: Keyring,
  after: AuditEnd,
  { beforeUs, through }: SegmentLimits,
  recordsMax: number,
): AuditSegment {
  let end = after;
  let bytes = 0;
  const entries: AuditEntry[] = [];
  const to = seqKey(Math.min(through + 1, keyring.auditEnd.seq));
  const range = { from: seqKey(after.seq + 1), to, limit: recordsMax };
  for (const { key, value } of recordsMax > 0 ? Array.from(reader.scan('vault_audit', range)) : []) {
    const seq = end.seq + 1;
    const json = Buffer.from(value.subarray(codeBytes));
    const code = codeOf(keyring, end.code, seq, json);
    if (seqOf(key) !== seq || Buffer.compare(code, value.subarray(0, codeBytes)) !== 0)
      return { entries, end, broken: `vault_audit: record ${seq} is missing or was changed` };
    bytes += json.length;
    if (recordOf({ json }).at >= beforeUs || (bytes > segmentBytesMax && entries.length > 0)) break;
    end = { seq, code };
    entries.push({ seq, code, json });
  }
  return { entries, end, broken: null };
}

/**
 * Verifies the trail, or its newest `recordsMax` records, up to the end that the keyring names. Yields the records in
 * pages, each valid until the next page is requested. Returns the fault of the first record that does not verify; null:
 * all records verify. If the service prunes the trail during the walk, the walk reads the keyring again
 * (`currentKeyring`) and continues after the pruned records.
 */
export function* walkAudit(
  reader: Reader,
  currentKeyring: () => Keyring,
  recordsMax = Number.POSITIVE_INFINITY,
): Generator<readonly AuditEntry[], string | null, void> {
  const keyring = currentKeyring();
  const end = keyring.auditEnd;
  let { seq, code } = keyring.auditBase ?? auditStart;
  const [oldest] = reader.keys('vault_audit', { limit: 1 });
  if (oldest !== undefined && seqOf(oldest) <= seq)
    return `vault_audit: record ${seqOf(oldest)} exists, although it was pruned`;
  if (end.seq - seq > recordsMax) {
    seq = end.seq - recordsMax;
    const before = reader.get('vault_audit', seqKey(seq));
    if (!before) return `vault_audit: record ${seq} is missing`;
    code = before.subarray(0, codeBytes);
  }
  while (seq < end.seq) {
    const range = { from: seqKey(seq + 1), to: seqKey(end.seq + 1), limit: pageSize };
    const found = Array.from(reader.scan('vault_audit', range));
    const first = found[0] ? seqOf(found[0].key) : end.seq + 1;
    const base = first > seq + 1 ? (currentKeyring().auditBase ?? auditStart) : auditStart;
    if (base.seq > seq) {
      ({ seq, code } = base);
      continue;
    }
    if (found.length === 0) return `vault_audit: records ${seq + 1} to ${end.seq} are missing`;
    const page: AuditEntry[] = [];
    let broken: string | null = null;
    for (const { key, value } of found) {
      const json = value.subarray(codeBytes);
      const wanted = codeOf(keyring, code, seq + 1, json);
      broken = breakOf(seq + 1, seqOf(key), Buffer.compare(wanted, value.subarray(0, codeBytes)) === 0);
      if (broken !== null) break;
      seq++;
      code = wanted;
      page.push({ seq, code, json });
    }
    if (page.length > 0) yield page;
    if (broken !== null) return broken;
  }
  // If `seq` is beyond `end`, the service has pruned the record `end` during the walk. The service verifies a record before it removes
  // the record, so the code at `end` need not be compared here.
  const isAnchored = seq !== end.seq || Buffer.compare(code, end.code) === 0;
  return isAnchored ? null : `vault_audit: record ${seq} is not the one that the keyring names`;
}

/** The fault if the record `found` was read where the record `seq` is expected; null: no fault. `isCode`: whether `found` has the right code. */
function breakOf(seq: number, found: number, isCode: boolean): string | null {
  if (Number.isNaN(found)) return `vault_audit: the record after ${seq - 1} has an invalid key`;
  if (found !== seq) return `vault_audit: records ${seq} to ${found - 1} are missing`;
  return isCode ? null : `vault_audit: record ${seq} was changed`;
}
