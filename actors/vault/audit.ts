// The audit trail: records in order, each with a keyed hash over itself and the one before, the last one anchored in the keyring.
//
//   key: seq (8)    value: code (32) | the record as JSON
import { createHmac } from 'node:crypto';
import type { Sliced } from '../../runtime/slices.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import { type AuditEnd, auditKeyOf, type Keyring } from './keyring.ts';

/** One call, refused ones too; one delivered secret; or many calls of nobody, as a count. */
export type AuditRecord = {
  /** µs since the epoch. */
  readonly at: number;
  /** `admin`, `unknown`, `command`, or `job:<id>`. */
  readonly actor: string;
  readonly op: string;
  readonly principal: string | null;
  readonly secret: string | null;
  readonly outcome: 'ok' | 'refused';
  /** Why it was refused. */
  readonly code: string | null;
  /** So many alike calls; absent: one. */
  readonly count?: number;
};

/** How the trail is found to be; a break names the first record that is not as it was written. */
export type AuditVerdict = { readonly records: number; readonly broken: string | null };

const codeBytes = 32;
const pageSize = 256;

/** Before the first record. */
export const auditStart: AuditEnd = { seq: 0, code: new Uint8Array(codeBytes) };

function seqKey(seq: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeBigUInt64BE(BigInt(seq));
  return key;
}

/** Of a key that is none of ours: not a number. */
function seqOf(key: Uint8Array): number {
  return key.length === 8 ? Number(Buffer.from(key).readBigUInt64BE()) : Number.NaN;
}

function codeOf(key: Uint8Array, before: Uint8Array, seq: number, json: Uint8Array): Buffer {
  return createHmac('sha256', key).update(before).update(seqKey(seq)).update(json).digest();
}

/** Writes the next record; returns the new end, which the keyring of the same commit must hold. */
export function appendAudit(batch: Batch, keyring: Keyring, record: AuditRecord): AuditEnd {
  const seq = keyring.auditEnd.seq + 1;
  const json = Buffer.from(JSON.stringify(record));
  const code = codeOf(auditKeyOf(keyring, seq), keyring.auditEnd.code, seq, json);
  batch.put('vault_audit', seqKey(seq), Buffer.concat([code, json]));
  return { seq, code };
}

/** Whether the trail ends where the keyring says. */
export function checkAuditEnd(reader: Reader, { auditEnd: { seq, code } }: Keyring): string | null {
  const newest = Array.from(reader.scan('vault_audit', { reverse: true, limit: 1 }))[0];
  const newestSeq = newest ? seqOf(newest.key) : 0;
  if (newestSeq !== seq) return endProblem(newestSeq, seq);
  const isSame = !newest || Buffer.compare(newest.value.subarray(0, codeBytes), code) === 0;
  return isSame ? null : `vault_audit: record ${seq} is not the one that the keyring names`;
}

function endProblem(newest: number, anchored: number): string {
  if (Number.isNaN(newest)) return 'vault_audit: it holds a record that is none';
  return newest < anchored
    ? `vault_audit: records ${newest + 1} to ${anchored} are missing`
    : `vault_audit: records go on after ${anchored}, where the keyring says that they end`;
}

/**
 * Walks the trail up to the end that the keyring names, and hands over each record that is as it was written. At most the newest
 * `recordsMax` are looked at; the one before them is taken as it stands.
 */
export function* walkAudit(
  reader: Reader,
  keyring: Keyring,
  take: (seq: number, record: AuditRecord) => void,
  recordsMax = Number.POSITIVE_INFINITY,
): Sliced<AuditVerdict> {
  const end = keyring.auditEnd;
  let { seq, code } = auditStart;
  if (end.seq > recordsMax) {
    seq = end.seq - recordsMax;
    const before = reader.get('vault_audit', seqKey(seq));
    if (!before) return { records: 0, broken: `vault_audit: record ${seq} is missing` };
    code = before.subarray(0, codeBytes);
  }
  const first = seq;
  const broken = (what: string): AuditVerdict => ({ records: seq - first, broken: `vault_audit: ${what}` });
  while (seq < end.seq) {
    const range = { from: seqKey(seq + 1), to: seqKey(end.seq + 1), limit: pageSize };
    const page = Array.from(reader.scan('vault_audit', range));
    if (page.length === 0) return broken(`records ${seq + 1} to ${end.seq} are missing`);
    for (const { key, value } of page) {
      const found = seqOf(key);
      if (Number.isNaN(found)) return broken(`behind record ${seq} stands one that is none`);
      if (found !== seq + 1) return broken(`records ${seq + 1} to ${found - 1} are missing`);
      const json = value.subarray(codeBytes);
      const wanted = codeOf(auditKeyOf(keyring, found), code, found, json);
      if (Buffer.compare(wanted, value.subarray(0, codeBytes)) !== 0) return broken(`record ${found} was changed`);
      take(found, JSON.parse(Buffer.from(json).toString()) as AuditRecord);
      seq = found;
      code = wanted;
    }
    yield;
  }
  if (Buffer.compare(code, end.code) !== 0) return broken(`record ${seq} is not the one that the keyring names`);
  return { records: seq - first, broken: null };
}
