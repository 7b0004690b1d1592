// The audit trail: records in order, each with a keyed hash over itself and the one before, the last one anchored in the keyring.
//
//   key: seq (8)    value: code (32) | the record as JSON
import { createHmac } from 'node:crypto';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { type AuditEnd, auditKeyOf, type Keyring } from './keyring.ts';

/**
 * One call, refused ones too; one delivery to a principal, for the jobs of a frame; or many calls of nobody, as a count. Trails of
 * earlier versions have a record for each delivered secret of each job, whose actor is `job:<id>`.
 */
export type AuditRecord = {
  /** µs since the epoch. */
  readonly at: number;
  /** `admin`, `unknown`, `command`, `dispatcher`, `retention`, or `job:<id>`. */
  readonly actor: string;
  readonly op: string;
  readonly principal: string | null;
  readonly secret: string | null;
  readonly outcome: 'ok' | 'refused';
  /** Why it was refused. */
  readonly code: string | null;
  /** So many alike calls, absent: one; of a prune: so many records. */
  readonly count?: number;
  /** Of a prune: the newest record that it removed. */
  readonly through?: number;
  /** Of a delivery: the jobs (job-ranges.ts), and what they were given. */
  readonly jobs?: readonly string[];
  readonly secrets?: readonly string[];
};

/** A record as it is stored, and its code. */
export type AuditEntry = AuditEnd & { readonly json: Uint8Array };

/** How the trail is found to be; a break names the first record that is not as it was written. */
export type AuditVerdict = { readonly records: number; readonly broken: string | null };

export const codeBytes = 32;
const pageSize = 256;
/** Of a stretch that is read at once, in bytes. */
const stretchBytesMax = 1 << 20;

/** Before the first record. */
export const auditStart: AuditEnd = { seq: 0, code: new Uint8Array(codeBytes) };

export function seqKey(seq: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeBigUInt64BE(BigInt(seq));
  return key;
}

/** Of a key that is none of ours: not a number. */
function seqOf(key: Uint8Array): number {
  return key.length === 8 ? Number(Buffer.from(key).readBigUInt64BE()) : Number.NaN;
}

export function recordOf({ json }: Pick<AuditEntry, 'json'>): AuditRecord {
  return JSON.parse(Buffer.from(json).toString());
}

/** The code of the record behind `before`. */
export function codeOf(keyring: Keyring, before: Uint8Array, seq: number, json: Uint8Array): Buffer {
  return createHmac('sha256', auditKeyOf(keyring, seq)).update(before).update(seqKey(seq)).update(json).digest();
}

/** Writes the next record; returns the new end, which the keyring of the same commit must hold. */
export function appendAudit(batch: Batch, keyring: Keyring, record: AuditRecord): AuditEnd {
  const seq = keyring.auditEnd.seq + 1;
  const json = Buffer.from(JSON.stringify(record));
  const code = codeOf(keyring, keyring.auditEnd.code, seq, json);
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

/** When the oldest record was written, in µs; null: there is none, or it cannot be read. */
export function oldestAuditUs(reader: Reader): number | null {
  for (const { value } of reader.scan('vault_audit', { limit: 1 })) {
    try {
      return (JSON.parse(Buffer.from(value.subarray(codeBytes)).toString()) as AuditRecord).at;
    } catch {
      return null;
    }
  }
  return null;
}

/** Where a stretch of the trail ends: before the first record from this time on, and with this record. */
export type StretchLimits = { readonly beforeUs: number; readonly through: number };

/** Neighbours in the trail. `end`: the last of them. `broken`: the first record that is not as it was written. */
export type Stretch = {
  readonly entries: readonly AuditEntry[];
  readonly end: AuditEnd;
  readonly broken: string | null;
};

/** Verifies records from behind `after` on, at most so many. The newest of all is never among them. */
export function readStretch(
  reader: Reader,
  keyring: Keyring,
  after: AuditEnd,
  { beforeUs, through }: StretchLimits,
  recordsMax: number,
): Stretch {
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
    if (recordOf({ json }).at >= beforeUs || (bytes > stretchBytesMax && entries.length > 0)) break;
    end = { seq, code };
    entries.push({ seq, code, json });
  }
  return { entries, end, broken: null };
}

/**
 * Walks the trail up to the end that the keyring names, and hands over each record that is as it was written. At most the newest
 * `recordsMax` are looked at; the one before them is taken as it stands. `now` reads the keyring as it is by then: the service may
 * prune while the trail is walked, and the walk goes on behind what it has pruned.
 */
export function* walkAudit(
  reader: Reader,
  now: () => Keyring,
  take: (entry: AuditEntry) => void,
  recordsMax = Number.POSITIVE_INFINITY,
): Sliced<AuditVerdict> {
  const keyring = now();
  const end = keyring.auditEnd;
  let { seq, code } = keyring.auditBase ?? auditStart;
  let records = 0;
  const broken = (what: string): AuditVerdict => ({ records, broken: `vault_audit: ${what}` });
  const [oldest] = reader.keys('vault_audit', { limit: 1 });
  if (oldest !== undefined && seqOf(oldest) <= seq) return broken(`record ${seqOf(oldest)} was pruned, and is there`);
  if (end.seq - seq > recordsMax) {
    seq = end.seq - recordsMax;
    const before = reader.get('vault_audit', seqKey(seq));
    if (!before) return broken(`record ${seq} is missing`);
    code = before.subarray(0, codeBytes);
  }
  while (seq < end.seq) {
    const range = { from: seqKey(seq + 1), to: seqKey(end.seq + 1), limit: pageSize };
    const page = Array.from(reader.scan('vault_audit', range));
    const first = page[0] ? seqOf(page[0].key) : end.seq + 1;
    const base = first > seq + 1 ? (now().auditBase ?? auditStart) : auditStart;
    if (base.seq > seq) {
      ({ seq, code } = base);
      continue;
    }
    if (page.length === 0) return broken(`records ${seq + 1} to ${end.seq} are missing`);
    for (const { key, value } of page) {
      const found = seqOf(key);
      if (Number.isNaN(found)) return broken(`behind record ${seq} stands one that is none`);
      if (found !== seq + 1) return broken(`records ${seq + 1} to ${found - 1} are missing`);
      const json = value.subarray(codeBytes);
      const wanted = codeOf(keyring, code, found, json);
      if (Buffer.compare(wanted, value.subarray(0, codeBytes)) !== 0) return broken(`record ${found} was changed`);
      take({ seq: found, code: wanted, json });
      records++;
      seq = found;
      code = wanted;
    }
    yield;
  }
  // What was pruned beyond the end was verified by whoever pruned it.
  if (seq === end.seq && Buffer.compare(code, end.code) !== 0)
    return broken(`record ${seq} is not the one that the keyring names`);
  return { records, broken: null };
}
