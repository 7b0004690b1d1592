// Writes the ends of attempts: the attempt itself, its entry in the journal, the counters, and the plugin's state. It also counts jobs that
// are accepted, delayed, sent to hosts, or pruned.

import { unpinned } from '../../runtime/bytes.ts';
import { stateUpdatesMax, tooManyUpdates } from '../../runtime/host/wire/state.ts';
import { overlayMap } from '../../runtime/overlay.ts';
import { pack, packedEmpty } from '../../runtime/packing.ts';
import { mapCount } from '../../runtime/splice.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import type { CountedJobs } from './protocol.ts';
import type { Attempt } from './records/attempt.ts';
import { AttemptWriter } from './records/attempts.ts';
import type { Block } from './records/block.ts';
import {
  type CommandCounts,
  type CommandTotals,
  countNotRun,
  countsKey,
  emptyCounts,
  readCounts,
  retriedCount,
  settledOf,
  sourceOf,
  subtractPruned,
} from './records/counts.ts';
import type { JobGroup } from './records/job.ts';
import { hasRun, isNeverStarted, JournalPage, newestCommitUs, readPruneMark, usKey } from './records/journal.ts';
import { byCommandKey, unsuccessfulKey } from './records/list-indexes.ts';
import { NameTableWriter } from './records/name-table.ts';
import { SettledInOpen } from './retention/settled-in-open.ts';

/** The maximum size of a plugin's packed state. */
export const stateBytesMax = 2 ** 20;

/** The counters of a plugin and command. `number` stands for the plugin and command in keys of other tables (name-table.ts). */
type CommandCounters = CommandCounts & { readonly key: string; readonly number: number; dirty: boolean };

/** A block of jobs that was accepted in this turn. */
export type CountedBlock = Pick<Block, 'plugin' | 'command' | 'count' | 'starts'> & {
  readonly key: Uint8Array;
  readonly groups: readonly JobGroup[];
};

/** The properties of an attempt's job that the journal and the counters need. */
export type AttemptOrigin = {
  readonly plugin: string;
  readonly command: string;
  readonly submittedBy: string;
  /** When the job was accepted. */
  readonly createdUs: number;
  /** Whether the job belongs to a step of a pipeline. False for jobs that stand for runs or actions. */
  readonly inStep: boolean;
  /** Whether the job was accepted with a time to run. Absent for jobs that stand for runs or actions. */
  readonly isDelayed?: boolean;
};

export function originOf(
  { plugin, command, createdUs }: Block,
  { submittedBy, stepId, options }: JobGroup,
): AttemptOrigin {
  return {
    plugin,
    command,
    submittedBy,
    createdUs,
    inStep: stepId !== null,
    isDelayed: options !== null && options.runAtUs !== undefined,
  };
}

export class CompletionWriter {
  readonly #reader: Reader;
  readonly #names: NameTableWriter;
  readonly #accounts = new Map<string, CommandCounters>();
  #last: { readonly plugin: string; readonly command: string; readonly account: CommandCounters } | null = null;
  /** The number of settled jobs that are still stored, which `retention.max_jobs` limits. */
  settledKept = 0;
  readonly settledInOpen = new SettledInOpen();
  readonly #dirty = new Set<CommandCounters>();
  readonly #states = new Map<string, { bytes: Uint8Array; dirty: boolean }>();
  readonly #attempts = new AttemptWriter();
  readonly #page = new JournalPage();
  /** The newest time in the journal, or the time of its newest value that was removed, if that is later. 0: the journal was always empty. */
  journalUs: number;
  /** The number of jobs that this turn has accepted, plus the number of attempts that it has ended. */
  #changes = 0;
  /** The time that `momentUs` has returned most recently. */
  #momentUs = 0;
  /** The latest time that `momentUs` has returned in earlier turns, or that `wasGiven` has received. Commits have later times. */
  #givenUs = 0;

  constructor(reader: Reader, setAside?: SetAside) {
    this.#reader = reader;
    this.#names = new NameTableWriter(reader);
    for (const { plugin, command, counts } of readCounts(reader, setAside)) {
      this.#open(plugin, command, counts);
      this.settledKept += settledOf(counts);
    }
    this.journalUs = Math.max(newestCommitUs(reader) ?? 0, readPruneMark(reader).upToUs);
  }

  get counts(): readonly CommandTotals[] {
    return Array.from(this.#accounts.values(), account => account.counts);
  }

  /** How many jobs have not settled, and how many of them are delayed, by plugin and command. */
  *unsettled(): Iterable<CountedJobs> {
    for (const { plugin, command, counts } of this.#accounts.values()) {
      const jobs = counts.accepted - settledOf(counts);
      if (jobs > 0) yield { plugin, command, jobs, delayed: counts.delayed };
    }
  }

  /** Counts the jobs of an accepted block, and adds the block to the index of its command. */
  accepted(batch: Batch, { key, plugin, command, count, starts, groups }: CountedBlock): void {
    const { number, counts } = this.#change(plugin, command);
    counts.accepted += count;
    this.#changes += count;
    for (let place = 0; place < groups.length; place++) {
      const source = sourceOf(groups[place]!);
      if (source === 'api') continue;
      counts.sources ??= {};
      counts.sources[source] = (counts.sources[source] ?? 0) + (starts[place + 1] ?? count) - starts[place]!;
    }
    batch.put('by_command', byCommandKey(number, key), nothing);
  }

  /** Adds `jobs`, which may be negative, to the number of running jobs. */
  running(plugin: string, command: string, jobs: number): void {
    this.#change(plugin, command).counts.running += jobs;
  }

  /** Adds `jobs`, which may be negative, to the number of delayed jobs. */
  delayed(plugin: string, command: string, jobs: number): void {
    this.#change(plugin, command).counts.delayed += jobs;
  }

  /** Sets the counters of running jobs to zero. Must be called when the actors start, before the jobs of adopted frames are counted again. */
  nothingRuns(): void {
    for (const account of this.#accounts.values()) {
      const { plugin, command, counts } = account;
      if (counts.running !== 0) this.running(plugin, command, -counts.running);
    }
  }

  /**
   * The time of this commit in the journal. It is later than the times of all earlier commits, and than all times that `momentUs` has
   * returned in earlier turns.
   */
  commitUs(nowUs: number): number {
    return this.#page.length > 0 ? this.journalUs : Math.max(nowUs, this.journalUs + 1, this.#givenUs + 1);
  }

  /** The time of this commit, for a moment (records/action.ts). Later turns get later times, even if this turn adds nothing to the journal. */
  momentUs(nowUs: number): number {
    this.#momentUs = this.commitUs(nowUs);
    return this.#momentUs;
  }

  /**
   * Gives all later commits times after `us`. When the actors start, it is called with the moment of each open action, so an action never
   * selects by an end that came after its moment.
   */
  wasGiven(us: number): void {
    this.#givenUs = Math.max(this.#givenUs, us);
  }

  attempt(batch: Batch, owner: AttemptOrigin, id: Uint8Array, number: number, attempt: Attempt): void {
    const { status } = attempt;
    this.#changes++;
    this.journalUs = attempt.completedUs;
    this.#attempts.add(batch, id, number, attempt);
    const account = this.#change(owner.plugin, owner.command);
    if (attempt.final) {
      account.counts[status]++;
      this.settledKept++;
      if (isNeverStarted(status, number)) account.counts.never_started++;
      else if (!hasRun(status, number, attempt.completedUs - attempt.startedUs)) countNotRun(account.counts, status);
      if (status !== 'succeeded') batch.put('unsuccessful', unsuccessfulKey(account.number, status, id), nothing);
    } else account.counts[retriedCount(status)]++;
    this.#page.add(id, number, owner, attempt, account.number, this.#names.submitter(owner.submittedBy));
  }

  /**
   * Subtracts a pruned attempt from the counters. If the job ended with this attempt and did not succeed, also removes the job from the
   * index of unsuccessful jobs.
   */
  pruned(
    batch: Batch,
    plugin: string,
    command: string,
    id: Uint8Array,
    attemptNumber: number,
    { final, status }: Attempt,
  ): void {
    const { counts, number } = this.#change(plugin, command);
    if (!final) {
      subtractPruned(counts, retriedCount(status));
      return;
    }
    subtractPruned(counts, 'accepted');
    subtractPruned(counts, status);
    if (isNeverStarted(status, attemptNumber)) subtractPruned(counts, 'never_started');
    this.settledKept--;
    if (status !== 'succeeded') batch.remove('unsuccessful', unsuccessfulKey(number, status, id));
  }

  /** Removes a pruned block from the index of its command. */
  prunedBlock(batch: Batch, plugin: string, command: string, key: Uint8Array): void {
    batch.remove('by_command', byCommandKey(this.#change(plugin, command).number, key));
  }

  /** The packed state of a plugin, including the changes of this turn. */
  pluginState(instance: string): Uint8Array {
    const known = this.#states.get(instance);
    if (known) return known.bytes;
    const bytes = this.#reader.get('states', Buffer.from(instance)) ?? packedEmpty;
    this.#states.set(instance, { bytes, dirty: false });
    return bytes;
  }

  /**
   * Merges updates into the state key by key or, if `replaces` is set, replaces the state. Returns an error if there are too many
   * updates to merge, or if the updates or the new state are too large. Null: the state was updated.
   */
  updateState(instance: string, updates: Uint8Array, replaces: boolean): string | null {
    if (updates.length > stateBytesMax) return tooLarge(updates.length);
    if (!replaces && mapCount(updates) > stateUpdatesMax) return tooManyUpdates(mapCount(updates));
    const bytes = replaces ? unpinned(updates) : overlayMap(this.pluginState(instance), updates);
    if (bytes.length > stateBytesMax) return tooLarge(bytes.length);
    this.#states.set(instance, { bytes, dirty: true });
    return null;
  }

  /**
   * Writes the changes of this turn. Returns the newest time in the journal (`journalUs`), and the number of accepted jobs plus the number
   * of ended attempts (`changes`).
   */
  close(batch: Batch): { readonly journalUs: number; readonly changes: number } {
    const { journalUs } = this;
    const changes = this.#changes;
    this.#changes = 0;
    this.#attempts.close(batch);
    this.#givenUs = Math.max(this.#givenUs, this.#momentUs);
    if (this.#page.length > 0) batch.put('journal', usKey(this.journalUs), this.#page.take());
    this.#names.close(batch);
    for (const account of this.#dirty) {
      account.dirty = false;
      batch.put('counters', Buffer.from(account.key), pack(account.counts));
    }
    this.#dirty.clear();
    for (const [instance, state] of this.#states) {
      if (!state.dirty) continue;
      state.dirty = false;
      batch.put('states', Buffer.from(instance), state.bytes);
    }
    return { journalUs, changes };
  }

  #change(plugin: string, command: string): CommandCounters {
    // Consecutive jobs often belong to the same command.
    let account = this.#last?.plugin === plugin && this.#last.command === command ? this.#last.account : undefined;
    if (!account) {
      account = this.#accounts.get(countsKey(plugin, command)) ?? this.#open(plugin, command, emptyCounts());
      this.#last = { plugin, command, account };
    }
    if (!account.dirty) {
      account.dirty = true;
      this.#dirty.add(account);
    }
    return account;
  }

  #open(plugin: string, command: string, counts: CommandTotals): CommandCounters {
    const key = countsKey(plugin, command);
    const account = { key, plugin, command, number: this.#names.command(plugin, command), counts, dirty: false };
    this.#accounts.set(key, account);
    return account;
  }
}

function tooLarge(bytes: number): string {
  return `the plugin's state would have ${bytes} bytes; the limit is ${stateBytesMax}`;
}

const nothing = new Uint8Array(0);
