// The table of timers: when the ledger has to examine jobs that are delayed, expire or have a deadline. It is ordered by time, so the
// ledger reads only the next entries.
//
// An entry concerns adjacent jobs of a block. It says only when to examine these jobs. At that time, the ledger reads whether they are
// still delayed (records/open.ts), and their times (records/options.ts, records/rescheduled.ts). So no entry changes when a job is
// cancelled or starts. An entry is removed at its time, or earlier: with the open record of its block, or when a further reschedule
// replaces it.
//
//   time (8, µs) | kind (1) | block key (12) | first job (4) -> how many jobs
import { blockKeyBytes } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import type { Batch, Key, Reader } from '../../../runtime/store/store.ts';
import { isHosted } from './job.ts';
import { readUs, usKey } from './journal.ts';
import type { JobTimes } from './options.ts';

export const timerKinds = ['run_at', 'expires', 'deadline'] as const;
export type TimerKind = (typeof timerKinds)[number];

/** `isOwn`: whether the entry is for a single job that was rescheduled. The entry that this job shares with its neighbours stays. */
export type Timer = {
  readonly atUs: number;
  readonly kind: TimerKind;
  readonly isOwn: boolean;
  readonly block: Uint8Array;
  readonly first: number;
  readonly count: number;
};

const ownFlag = 0x80;
const blockAt = 9;
const firstAt = blockAt + blockKeyBytes;
export const timerKeyBytes = firstAt + 4;

export function timerKey({ atUs, kind, isOwn, block, first }: Omit<Timer, 'count'>): Key {
  const key = Buffer.alloc(timerKeyBytes);
  usKey(atUs).copy(key);
  key[8] = timerKinds.indexOf(kind) | (isOwn ? ownFlag : 0);
  key.set(block, blockAt);
  key.writeUInt32BE(first, firstAt);
  return key;
}

export function putTimer(batch: Batch, timer: Timer): void {
  batch.put('timers', timerKey(timer), pack(timer.count));
}

/** Throws if the record is unusable. */
export function decodeTimer(key: Uint8Array, value: Uint8Array): Timer {
  const own = Buffer.from(key);
  const kind = timerKinds[own[8]! & ~ownFlag];
  const count = unpack(value);
  if (own.length !== timerKeyBytes || kind === undefined || !Number.isSafeInteger(count) || Number(count) < 1)
    throw new Error('the record is not a valid timer');
  const isOwn = (own[8]! & ownFlag) !== 0;
  return {
    atUs: readUs(own),
    kind,
    isOwn,
    block: own.subarray(blockAt, firstAt),
    first: own.readUInt32BE(firstAt),
    count: Number(count),
  };
}

/** The kinds and times of the entries for jobs with these times. The deadline of a run has no entry. */
export function timersOf(
  plugin: string,
  { runAtUs, expiresUs, deadlineUs }: JobTimes,
): (readonly [kind: TimerKind, atUs: number])[] {
  const all = [
    ['run_at', runAtUs],
    ['expires', expiresUs],
    ['deadline', isHosted(plugin) ? deadlineUs : null],
  ] as const;
  return all.flatMap(([kind, atUs]) => (atUs === null ? [] : [[kind, atUs] as const]));
}

/** The time of the first entry later than `afterUs` or, if `afterUs` is null, of the first entry. Null: no such entry. */
export function nextTimerUs(reader: Reader, afterUs: number | null): number | null {
  const range = { ...(afterUs !== null && { from: usKey(afterUs + 1) }), limit: 1 };
  for (const key of reader.keys('timers', range)) return readUs(key);
  return null;
}
