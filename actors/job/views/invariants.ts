// Invariants between the tables of the store. Each invariant is a check of a single record, which can be repeated at any time.

import { hexOf } from '../../../runtime/bytes.ts';
import { type BlockKey, blockOf, formatId, indexOf, type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { readJobsOf } from '../../pipeline/records/run.ts';
import type { Attempt } from '../records/attempt.ts';
import { AttemptPage, attemptsOf as attemptsIn, latestAttempt } from '../records/attempts.ts';
import { type Block, decodeBlock, findBlock, groupEnd, groupOf } from '../records/block.ts';
import { readCounts, settledOf } from '../records/counts.ts';
import { decodeHold } from '../records/hold.ts';
import { matchesCommand, pipelinePlugin, statuses } from '../records/job.ts';
import { AttemptReader, entriesOf, readPruneMark, readUs, usKey } from '../records/journal.ts';
import { byCommandKey, unsuccessfulKey } from '../records/list-indexes.ts';
import type { NameTable } from '../records/name-table.ts';
import { findOpen, keyText, OpenBlock } from '../records/open.ts';
import { treeRange } from '../records/tree.ts';
import { actionInvariants } from './action-invariants.ts';
import { cancelInvariants } from './cancel-invariants.ts';
import type { Invariant } from './invariant.ts';
import { countDescendants } from './jobs.ts';
import { partInvariants } from './part-invariants.ts';
import { pauseInvariants } from './pause-invariants.ts';
import { runInvariants } from './run-invariants.ts';
import { tagInvariants } from './tag-invariants.ts';
import { timerInvariants } from './timer-invariants.ts';

/** How far, in µs, the time in the key of a pruned block may lie after the prune mark (records/journal.ts). */
const aheadUs = 1_000_000;
/** The maximum number of a tree's blocks that are checked. */
const treeBlocksMax = 64;
/** The maximum number of entries that are counted in the tree of an open run. */
const treeEntriesMax = 4096;

type LatestAttempt = readonly [id: JobId, number: number, attempt: Omit<Attempt, 'body' | 'startedUs'>];

/**
 * The invariants of this store. Checks that get the same key object may share records that they have read. For a new key object, the records
 * are read again. `blockIn` decodes a block.
 */
export function invariantsOf(reader: Reader, names: NameTable, blockIn = lastBlock()): readonly Invariant[] {
  let known: { readonly key: Uint8Array; readonly attempts: readonly LatestAttempt[] } | null = null;
  return [
    { name: 'open_jobs_have_blocks', table: 'open', wrong: openHasBlock },
    { name: 'retries_are_open', table: 'retries', wrong: retryIsOpen },
    { name: 'retries_are_counted', table: 'open', wrong: retriesAreCounted },
    ...cancelInvariants(reader),
    { name: 'holds_have_jobs', table: 'holds', wrong: holdHasJobs },
    ...pauseInvariants,
    { name: 'settled_jobs_have_logs', table: 'blocks', wrong: settledHaveLogs },
    { name: 'final_states_are_last', table: 'blocks', wrong: finalIsLast },
    { name: 'children_have_parents', table: 'blocks', wrong: childrenHaveParents },
    { name: 'tree_has_blocks', table: 'tree', wrong: treeHasBlock },
    { name: 'blocks_are_in_trees', table: 'blocks', wrong: blockIsInTrees },
    { name: 'trees_of_settled_runs_are_closed', table: 'blocks', wrong: treeIsClosed },
    { name: 'commands_have_blocks', table: 'by_command', wrong: commandHasBlock },
    { name: 'blocks_are_listed_by_command', table: 'blocks', wrong: blockIsListed },
    { name: 'unsuccessful_jobs_are_so', table: 'unsuccessful', wrong: unsuccessfulIsSo },
    { name: 'unsuccessful_jobs_are_listed', table: 'blocks', wrong: unsuccessfulAreListed },
    { name: 'journal_has_attempts', table: 'journal', wrong: journalHasAttempts },
    { name: 'attempts_are_in_journal', table: 'blocks', wrong: attemptsAreInJournal },
    { name: 'attempts_have_bodies', table: 'attempts', wrong: attemptHasBody },
    { name: 'bodies_have_attempts', table: 'bodies', wrong: bodyHasAttempt },
    { name: 'runs_are_open', table: 'runs', wrong: runIsOpen },
    { name: 'jobs_of_open_runs_are_kept', table: 'runs', wrong: jobsOfRunAreKept },
    ...partInvariants(reader, blockIn),
    { name: 'fan_outs_have_runs', table: 'lists', wrong: partHasRun },
    { name: 'descendants_are_counted', table: 'descendants', wrong: descendantsAreCounted },
    ...runInvariants(reader, blockIn),
    ...actionInvariants(reader),
    ...tagInvariants(reader, blockIn),
    ...timerInvariants(reader),
  ];

  function openHasBlock(key: Uint8Array, value: Uint8Array): string | null {
    const open = OpenBlock.decode(keyText(key), value);
    const bytes = reader.get('blocks', key);
    if (!bytes) return `the open record ${hexOf(key)} has no block`;
    const { plugin, command, count } = blockIn(bytes);
    const isSame = open.plugin === plugin && open.command === command && open.count === count;
    if (!isSame) return `the open record ${hexOf(key)} names another plugin, command or number of jobs than its block`;
    return open.unsettled > 0 && open.next <= count ? null : `the open record ${hexOf(key)} has no open job`;
  }

  function retryIsOpen(key: Uint8Array): string | null {
    const open = findOpen(reader, blockOf(key));
    const index = indexOf(key);
    if (open && index < open.next && !open.isSettled(index)) return null;
    return `the job ${formatId(key)} has a record in retries, but is not open`;
  }

  function retriesAreCounted(key: Uint8Array, value: Uint8Array): string | null {
    const open = OpenBlock.decode(keyText(key), value);
    let found = 0;
    for (const _ of reader.scan('retries', rangeOf(Buffer.from(key), open.count))) found++;
    return found === open.retrying
      ? null
      : `the block ${hexOf(key)} has ${found} jobs in retries, not ${open.retrying}`;
  }

  /** A hold must have unsettled jobs. The store does not show whether these jobs are really held. */
  function holdHasJobs(key: Uint8Array, value: Uint8Array): string | null {
    const hold = decodeHold(key, value);
    if (!hold) return `the hold ${hexOf(key)} cannot be decoded`;
    const { plugin, command } = hold;
    for (const counted of readCounts(reader)) {
      if (matchesCommand(hold, counted) && counted.counts.accepted > settledOf(counted.counts)) return null;
    }
    return `jobs of ${plugin}${command === null ? '' : `.${command}`} are held, but none is open`;
  }

  function settledHaveLogs(key: Uint8Array, value: Uint8Array): string | null {
    const { count } = blockIn(value);
    const open = findOpen(reader, key);
    const ended = new Set<number>();
    for (const [id, , attempt] of attemptsOf(key, count)) if (attempt.final) ended.add(indexOf(id));
    for (let index = 0; index < count; index++) {
      const isOpen = open !== undefined && !open.isSettled(index);
      if (isOpen !== ended.has(index)) continue;
      const id = formatId(jobId(Buffer.from(key), index));
      return isOpen
        ? `the job ${id} has ended, but its block lists it as open`
        : `the settled job ${id} has no final attempt`;
    }
    return null;
  }

  function finalIsLast(key: Uint8Array, value: Uint8Array): string | null {
    let ended = -1;
    for (const [id, number, { final, status }] of attemptsOf(key, blockIn(value).count)) {
      if (ended === indexOf(id)) return `the job ${formatId(id)} has attempt ${number} after its final one`;
      if (!final && status !== 'failed' && status !== 'timed_out')
        return `attempt ${number} of ${formatId(id)} is ${status}, but not final`;
      if (final) ended = indexOf(id);
    }
    return null;
  }

  function childrenHaveParents(key: Uint8Array, value: Uint8Array): string | null {
    const block = blockIn(value);
    for (const [place, start] of block.starts.entries()) {
      const { parent } = block.group(place);
      if (parent === null || isKeptOrPruned(parent)) continue;
      return `the job ${formatId(jobId(Buffer.from(key), start))} has the parent ${formatId(parent)}, which does not exist`;
    }
    return null;
  }

  function treeHasBlock(key: Uint8Array, value: Uint8Array): string | null {
    const root = Buffer.from(key.subarray(0, jobIdBytes));
    const blockKey = key.subarray(jobIdBytes);
    const bytes = reader.get('blocks', blockKey);
    if (!bytes) return `the tree of ${formatId(root)} names the block ${hexOf(blockKey)}, which does not exist`;
    const same = Buffer.compare(Buffer.from(Uint32Array.from(rangesIn(blockIn(bytes), root)).buffer), value) === 0;
    return same ? null : `the tree of ${formatId(root)} lists the wrong jobs of the block ${hexOf(blockKey)}`;
  }

  function blockIsInTrees(key: Uint8Array, value: Uint8Array): string | null {
    const block = blockIn(value);
    for (const place of block.starts.keys()) {
      const { root } = block.group(place);
      if (root && !reader.get('tree', Buffer.concat([root, key])))
        return `the tree of ${formatId(root)} lacks the block ${hexOf(key)}`;
    }
    return null;
  }

  /** All jobs of an ended run must have ended. Runs that were started by its events or hooks, and their jobs, do not belong to the run. */
  function treeIsClosed(key: Uint8Array, value: Uint8Array): string | null {
    const block = blockIn(value);
    if (block.plugin !== pipelinePlugin) return null;
    const open = findOpen(reader, key);
    for (let index = 0; index < block.count; index++) {
      if (open && !open.isSettled(index)) continue;
      const id = jobId(Buffer.from(key), index);
      const left = openJobOf(id, groupOf(block, index).group.root ?? id);
      if (left) return `the run ${formatId(id)} has ended, but its job ${formatId(left)} has not`;
    }
    return null;
  }

  function openJobOf(run: JobId, root: JobId): JobId | null {
    for (const entry of [...reader.scan('tree', { ...treeRange(root), limit: treeBlocksMax })]) {
      const key = Buffer.from(entry.key.subarray(jobIdBytes));
      const bytes = reader.get('blocks', key);
      const open = findOpen(reader, key);
      if (!bytes || !open) continue;
      const block = blockIn(bytes);
      for (const [place, start] of block.starts.entries()) {
        const position = block.group(place).run;
        if (!position || Buffer.compare(position.run, run) !== 0) continue;
        for (let index = start; index < groupEnd(block, place); index++) {
          if (!open.isSettled(index)) return jobId(key, index);
        }
      }
    }
    return null;
  }

  function commandHasBlock(key: Uint8Array): string | null {
    const name = names.commands[Buffer.from(key).readUInt32BE(0)];
    const blockKey = key.subarray(4);
    const bytes = reader.get('blocks', blockKey);
    if (!bytes) return `the block ${hexOf(blockKey)} is listed in by_command, but does not exist`;
    const { plugin, command } = blockIn(bytes);
    if (name?.plugin === plugin && name.command === command) return null;
    return `the block ${hexOf(blockKey)} of ${plugin}/${command} is listed in by_command under another command`;
  }

  function blockIsListed(key: Uint8Array, value: Uint8Array): string | null {
    const number = numberOf(blockIn(value));
    const isListed = number !== undefined && reader.get('by_command', byCommandKey(number, key)) !== undefined;
    return isListed ? null : `the block ${hexOf(key)} is missing in by_command`;
  }

  function unsuccessfulIsSo(key: Uint8Array): string | null {
    const id = Buffer.from(key.subarray(5));
    const status = statuses[key[4]!];
    const last = latestAttempt(reader, id)?.attempt;
    return last?.final && last.status === status ? null : `the job ${formatId(id)} is listed as ${status}, but is not`;
  }

  function unsuccessfulAreListed(key: Uint8Array, value: Uint8Array): string | null {
    const block = blockIn(value);
    const number = numberOf(block) ?? -1;
    for (const [id, , { final, status }] of attemptsOf(key, block.count)) {
      if (!final || status === 'succeeded') continue;
      const isListed = number >= 0 && reader.get('unsuccessful', unsuccessfulKey(number, status, id)) !== undefined;
      if (!isListed) return `the job ${formatId(id)} is ${status}, but is missing in unsuccessful`;
    }
    return null;
  }

  function journalHasAttempts(key: Uint8Array, value: Uint8Array): string | null {
    const atUs = readUs(key);
    // Neighbouring entries often belong to the same block.
    let block: { readonly key: Uint8Array; readonly count: number } | null = null;
    const attempts = new AttemptReader(reader);
    for (const entry of entriesOf(atUs, value)) {
      const { id, attempt: number, status, final } = entry;
      const attempt = attempts.find(entry);
      if (!block || Buffer.compare(block.key, blockOf(id)) !== 0) block = { key: blockOf(id), count: countOf(id) };
      if (!attempt || indexOf(id) >= block.count)
        return `the journal names the attempt ${formatId(id)}-${number}, which does not exist`;
      if (attempt.status !== status || attempt.final !== final || attempt.completedUs !== atUs)
        return `the journal differs from the record of the attempt ${formatId(id)}-${number} in status, time or finality`;
    }
    return null;
  }

  function attemptsAreInJournal(key: Uint8Array, value: Uint8Array): string | null {
    const named = new Map<number, ReadonlySet<string>>();
    for (const [id, number, { completedUs }] of attemptsOf(key, blockIn(value).count)) {
      let names = named.get(completedUs);
      if (!names) {
        names = namedAt(completedUs);
        named.set(completedUs, names);
      }
      if (!names.has(shortName(id, number))) return `the attempt ${formatId(id)}-${number} is not in the journal`;
    }
    return null;
  }

  function attemptHasBody(key: Uint8Array, value: Uint8Array): string | null {
    const isWhole = !new AttemptPage(reader, key, value).isApart || reader.get('bodies', key) !== undefined;
    return isWhole ? null : `the body of the attempt ${hexOf(key)} is missing`;
  }

  function bodyHasAttempt(key: Uint8Array): string | null {
    const value = reader.get('attempts', key);
    return value && new AttemptPage(reader, key, value).isApart ? null : `the body ${hexOf(key)} belongs to no attempt`;
  }

  function countOf(id: JobId): number {
    const bytes = reader.get('blocks', blockOf(id));
    return bytes ? blockIn(bytes).count : 0;
  }

  function namedAt(atUs: number): ReadonlySet<string> {
    const value = reader.get('journal', usKey(atUs));
    return new Set(value ? entriesOf(atUs, value).map(({ id, attempt }) => shortName(id, attempt)) : []);
  }

  function runIsOpen(key: Uint8Array): string | null {
    if (key.length > jobIdBytes) return partHasRun(key);
    const open = findOpen(reader, blockOf(key));
    const isOpen = open?.plugin === pipelinePlugin && !open.isSettled(indexOf(key));
    return isOpen ? null : `the run ${formatId(key)} has a record in runs, but is not open`;
  }

  function jobsOfRunAreKept(key: Uint8Array, value: Uint8Array): string | null {
    if (key.length > jobIdBytes) return null;
    const { isRoot, jobs } = readJobsOf(value);
    if (!isRoot) return null;
    // Each entry of the tree has at least one job.
    const wanted = Math.min(jobs, treeEntriesMax);
    const there = countDescendants(reader, Buffer.from(key), treeEntriesMax);
    return there >= wanted ? null : `${wanted - there} jobs of the open run ${formatId(key)} are missing`;
  }

  function partHasRun(key: Uint8Array): string | null {
    const run = Buffer.from(key.subarray(0, jobIdBytes));
    return reader.get('runs', run) ? null : `the run ${formatId(run)} has ended, but its record ${hexOf(key)} remains`;
  }

  function descendantsAreCounted(key: Uint8Array, value: Uint8Array): string | null {
    const there = countDescendants(reader, Buffer.from(key), treeBlocksMax);
    const counted = unpack<number>(value);
    return there <= counted ? null : `${formatId(key)} has at least ${there} descendants, but ${counted} are counted`;
  }

  /** The attempts of a block, read once for all its checks. */
  function attemptsOf(key: Uint8Array, count: number): readonly LatestAttempt[] {
    if (known?.key === key) return known.attempts;
    const attempts: LatestAttempt[] = [];
    for (const { index, number, attempt } of attemptsIn(reader, Buffer.from(key), 0, count)) {
      const { status, final, completedUs } = attempt;
      attempts.push([jobId(Buffer.from(key), index), number, { status, final, completedUs }]);
    }
    known = { key, attempts };
    return attempts;
  }

  function isKeptOrPruned(id: JobId): boolean {
    if (findBlock(reader, id)) return true;
    const acceptedUs = Buffer.from(id).readUIntBE(0, 6) * 1000;
    return acceptedUs <= readPruneMark(reader).upToUs + aheadUs;
  }

  function numberOf({ plugin, command }: Block): number | undefined {
    return names.commands.find(name => name.plugin === plugin && name.command === command)?.number;
  }
}

/** Remembers the last decoded block, which consecutive checks often need again. */
function lastBlock(): (value: Uint8Array) => Block {
  let last: { readonly value: Uint8Array; readonly block: Block } | null = null;
  return value => {
    if (last?.value !== value) last = { value, block: decodeBlock(value) };
    return last.block;
  };
}

/** The indexes of the block's jobs that belong to this root's tree, as pairs `from, to` (`to` is not included). */
function rangesIn(block: Block, root: JobId): number[] {
  const ranges: number[] = [];
  for (const [place, start] of block.starts.entries()) {
    const group = block.group(place);
    if (!group.root || Buffer.compare(group.root, root) !== 0) continue;
    if (ranges.at(-1) === start) ranges[ranges.length - 1] = groupEnd(block, place);
    else ranges.push(start, groupEnd(block, place));
  }
  return ranges;
}

function rangeOf(key: BlockKey, count: number) {
  return { from: jobId(key, 0), to: jobId(key, count) };
}

/** A short name of an attempt, for use in sets. */
function shortName(id: Uint8Array, attempt: number): string {
  return `${keyText(id)}${attempt}`;
}
