// Invariants of delayed jobs, timers and rescheduled jobs. Jobs that have started may still have timers: a timer is removed at its
// time, or with the open record of its block.
import { hexOf } from '../../../runtime/bytes.ts';
import { formatId, jobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Block, findBlock, groupOf } from '../records/block.ts';
import { groupIn } from '../records/cancel.ts';
import { readCounts } from '../records/counts.ts';
import { findOpen, keyText, OpenBlock } from '../records/open.ts';
import { areTimed, timesOf } from '../records/options.ts';
import { decodeRescheduled, rescheduledIn, rescheduledTo } from '../records/rescheduled.ts';
import { decodeTimer, timerKey, timersOf } from '../records/timer.ts';
import type { Invariant } from './invariant.ts';

/** The counters of delayed jobs are checked only if there are at most this many open blocks. */
const openMax = 1_024;

export function timerInvariants(reader: Reader): readonly Invariant[] {
  return [
    { name: 'delayed_jobs_have_timers', table: 'open', wrong: delayedHaveTimers },
    { name: 'timers_have_jobs', table: 'timers', wrong: timerHasJobs },
    { name: 'rescheduled_jobs_exist', table: 'rescheduled', wrong: rescheduledExists },
    { name: 'delayed_jobs_are_counted', table: 'counters', wrong: delayedAreCounted },
  ];

  /** A delayed job must have all its timers (`timersOf`), because the ledger has handled none of them yet. */
  function delayedHaveTimers(key: Uint8Array, value: Uint8Array): string | null {
    const open = OpenBlock.decode(keyText(key), value);
    if (!open.isTimed) return null;
    const block = findBlock(reader, jobId(key, 0));
    // The invariant `open_jobs_have_blocks` reports a missing or different block.
    if (!block || block.count !== open.count) return null;
    const rescheduled = new Map(rescheduledIn(reader, key, open.count));
    if (rescheduled.size !== open.rescheduled)
      return `${rescheduled.size} jobs of the block ${hexOf(key)} were rescheduled, but its open record says ${open.rescheduled}`;
    for (let index = 0; index < open.count; index++) {
      const missing = open.isDelayed(index) ? missingTimer(key, block, index) : null;
      if (missing !== null) return missing;
    }
    return null;
  }

  function missingTimer(key: Uint8Array, block: Block, index: number): string | null {
    const id = jobId(key, index);
    const { group, offset } = groupOf(block, index);
    if (!areTimed(group.options)) return `the job ${formatId(id)} is delayed, but has no time`;
    const ownUs = rescheduledTo(reader, id);
    const isOwn = ownUs !== undefined;
    const first = isOwn ? index : index - offset;
    for (const [kind, atUs] of timersOf(block.plugin, timesOf(group.options, block.createdUs, ownUs))) {
      if (reader.get('timers', timerKey({ atUs, kind, isOwn, block: key, first }))) continue;
      return `the job ${formatId(id)} is delayed, but no timer has its ${kind}`;
    }
    return null;
  }

  function timerHasJobs(key: Uint8Array, value: Uint8Array): string | null {
    const { block, first, count } = decodeTimer(key, value);
    const open = findOpen(reader, block);
    if (open?.isTimed !== true) return `a timer names the block ${hexOf(block)}, which has no open job with times`;
    return first + count <= open.count ? null : `a timer names jobs that the block ${hexOf(block)} does not have`;
  }

  function delayedAreCounted(key: Uint8Array): string | null {
    if (reader.count('open') > openMax) return null;
    const [plugin = '', command = ''] = Buffer.from(key).toString().split('\0');
    const counted = readCounts(reader).find(each => each.plugin === plugin && each.command === command);
    let delayed = 0;
    for (const each of reader.scan('open', {})) {
      const open = OpenBlock.decode(keyText(each.key), each.value);
      if (open.plugin === plugin && open.command === command) delayed += open.delayed;
    }
    const stored = counted?.counts.delayed ?? 0;
    return stored === delayed
      ? null
      : `${plugin}/${command}: ${stored} jobs are counted as delayed, but there are ${delayed}`;
  }

  function rescheduledExists(key: Uint8Array, value: Uint8Array): string | null {
    decodeRescheduled(value);
    const group = groupIn(reader, key);
    if (group?.options?.runAtUs !== undefined) return null;
    return `the job ${formatId(key)} was rescheduled, but ${group ? 'it never had a time' : 'does not exist'}`;
  }
}
