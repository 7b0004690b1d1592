// Groups of failed jobs. A job has failed if it ended as failed, timed_out or dead. The table `failures` has the groups. The table
// `failed_jobs` has a record for each failed job, in the order of the journal. These records serve to subtract pruned jobs from
// their groups, and to find the jobs of a group.
import { copyBytes } from '../../../runtime/bytes.ts';
import { bodyPart } from '../../../runtime/host/wire/outcome.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import type { IndexTable, Range, Reader } from '../../../runtime/store/store.ts';
import type { StoredAttempt } from '../../job/records/attempt.ts';
import { failureStatuses, statuses } from '../../job/records/job.ts';
import { asBuffer, type JournalEntry, type JournalPosition } from '../../job/records/journal.ts';
import type { CommandName } from '../../job/records/name-table.ts';
import { errorLine, fingerprintBytes, fingerprintOf, lineText, patternOf } from './fingerprint.ts';

/** The name of the failure index among the consumers of the journal. */
export const failuresName = 'failures';
/** The maximum number of groups. When another group begins, one is dropped: see `failure-index.ts`. */
export const failureGroupsMax = 1_000;
/** The maximum share of groups on trial (failure-index.ts) among all groups. */
export const failureTrialShare = 0.25;
export const hourUs = 3_600_000_000;
/** The number of hours for which a group has counts of its jobs, up to the hour of its last job. */
export const trendHours = 24;

const isFailureCode = new Uint8Array(256);
for (const status of failureStatuses) isFailureCode[statuses.indexOf(status)] = 1;

/** Whether a job failed with this attempt. */
export function isFailure(entry: JournalEntry): boolean {
  return isFailureCode[entry.statusCode] === 1 && entry.final;
}

export type FailureGroup = {
  readonly fingerprint: string;
  readonly plugin: string;
  readonly command: string;
  readonly pattern: string;
  count: number;
  first: JournalPosition;
  last: JournalPosition;
  /** The last job of the group, and the beginning of the first line of its error (`sampleOf`). */
  sample: { readonly jobId: JobId; readonly message: string };
  /** By hour, counted from the Unix epoch: the number of jobs that failed. */
  readonly hours: Map<number, number>;
};

/** The first line of the error of an attempt, in UTF-8. */
export function errorLineOf(attempt: StoredAttempt): Uint8Array {
  return errorLine(bodyPart(attempt.stored, 'error'));
}

/** The fingerprint of a job that failed with this attempt. `owner`: the plugin and command of the job. */
export function fingerprintIn(attempt: StoredAttempt, owner: Pick<CommandName, 'plugin' | 'command'>): string {
  return fingerprintOf(owner.plugin, owner.command, patternOf(lineText(errorLineOf(attempt))));
}

/** Counts a job that failed at this time. When a new hour begins, hours that are too old are removed. */
export function addHour(hours: Map<number, number>, atUs: number): void {
  const hour = Math.floor(atUs / hourUs);
  const count = hours.get(hour);
  hours.set(hour, (count ?? 0) + 1);
  if (count !== undefined) return;
  for (const known of hours.keys()) if (known <= hour - trendHours) hours.delete(known);
}

/** Subtracts a job that `addHour` has counted for this time. */
export function subtractHour(hours: Map<number, number>, atUs: number): void {
  const hour = Math.floor(atUs / hourUs);
  const left = (hours.get(hour) ?? 0) - 1;
  if (left > 0) hours.set(hour, left);
  else hours.delete(hour);
}

export function groupKey(fingerprint: string): Buffer {
  return Buffer.from(fingerprint, 'hex');
}

type PackedGroup = [
  plugin: string,
  command: string,
  pattern: string,
  count: number,
  first: [atUs: number, place: number],
  last: [atUs: number, place: number],
  sample: [jobId: Uint8Array, message: string],
  hours: [hour: number, count: number][],
];

export function encodeGroup({ plugin, command, pattern, count, first, last, sample, hours }: FailureGroup): Buffer {
  const packed: PackedGroup = [
    plugin,
    command,
    pattern,
    count,
    [first.atUs, first.place],
    [last.atUs, last.place],
    [sample.jobId, sample.message],
    [...hours],
  ];
  return pack(packed);
}

export function decodeGroup(key: Uint8Array, value: Uint8Array): FailureGroup {
  const [plugin, command, pattern, count, first, last, sample, hours] = unpack<PackedGroup>(value);
  return {
    fingerprint: asBuffer(key).toString('hex'),
    plugin,
    command,
    pattern,
    count,
    first: { atUs: first[0], place: first[1] },
    last: { atUs: last[0], place: last[1] },
    sample: { jobId: Buffer.from(sample[0]), message: sample[1] },
    hours: new Map(hours),
  };
}

/** The number of records in a full page, which is one value of the table `failed_jobs`. */
export const failurePageRecords = 1_024;
/** The length of a record: time of the commit (8) | place in the commit (4) | fingerprint (8). */
export const failureRecordBytes = 12 + fingerprintBytes;

export type FailureRecord = JournalPosition & { readonly fingerprint: string };

/** Writes a record into the page, at the offset `at`. `key`: the key of the group (`groupKey`). */
export function writeFailureRecord(page: Buffer, at: number, { atUs, place }: JournalPosition, key: Uint8Array): void {
  page.writeDoubleLE(atUs, at);
  page.writeUInt32LE(place, at + 8);
  copyBytes(page, at + 12, key);
}

export function readFailurePlace(page: Buffer, at: number): JournalPosition {
  return { atUs: page.readDoubleLE(at), place: page.readUInt32LE(at + 8) };
}

export function readFailureRecord(page: Buffer, at: number): FailureRecord {
  return { ...readFailurePlace(page, at), fingerprint: page.toString('hex', at + 12, at + failureRecordBytes) };
}

/** A page and its key, which is the position of the page's first record (`positionBytes`). */
type FailureRecordPage = { readonly key: Buffer; readonly page: Buffer };

/** Reads the pages in this range of keys. */
export function failurePages(index: Reader<IndexTable>, range: Range): FailureRecordPage[] {
  return Array.from(index.scan('failed_jobs', range), ({ key, value }) => ({
    key: Buffer.from(key),
    page: asBuffer(value),
  }));
}
