// Groups failed jobs by their fingerprints (records/fingerprint.ts), and subtracts pruned jobs from their groups. The
// groups follow from the stored jobs. So a rebuilt index has the same groups, unless groups were dropped because there
// were too many.
import type { Batch, IndexTable } from '../../runtime/store/store.ts';
import { AttemptReader, isBefore, type JournalEntry } from '../job/records/journal.ts';
import { type CommandName, NameTable } from '../job/records/name-table.ts';
import type { IndexStores, JournalConsumer } from './consumer.ts';
import { FailurePages } from './failure-pages.ts';
import {
  addHour,
  decodeGroup,
  encodeGroup,
  errorLineOf,
  type FailureGroup,
  type FailureRecord,
  failureGroupsMax,
  failuresName,
  failureTrialShare,
  groupKey,
  isFailure,
  subtractHour,
} from './records/failures.ts';
import { differInNumbers, fingerprintOf, lineText, patternOf, sampleOf } from './records/fingerprint.ts';
import { entryFinder } from './records/position.ts';

/** The last job that was added to a group, and the first line of its error. */
type AddedJob = { readonly group: FailureGroup; entry: JournalEntry; line: Uint8Array };
/** The fingerprint of a pattern, and the key of its group. */
type KnownPattern = { readonly fingerprint: string; readonly key: Buffer };
/** The patterns of one command with known fingerprints, the last line whose pattern was computed, and that pattern. */
type KnownPatterns = { readonly byPattern: Map<string, KnownPattern>; line: Uint8Array; last: KnownPattern | null };

export class FailureIndex implements JournalConsumer {
  readonly name = failuresName;
  readonly #stores: IndexStores;
  readonly #attempts: AttemptReader;
  readonly #names: NameTable;
  readonly #pages: FailurePages;
  readonly #groupsMax: number;
  /** The groups by fingerprint. The group that was seen least recently comes first. */
  #groups: Map<string, FailureGroup>;
  /** The fingerprint of the group that was seen last; null: unknown. */
  #newest: string | null = null;
  /**
   * The fingerprints of the groups on trial, oldest first. A group on trial began when there was no room for another
   * group, and has had only one job. After a restart, no group is on trial.
   */
  readonly #onTrial = new Set<string>();
  /** The known patterns of each command, by the number of the command. */
  readonly #patterns: KnownPatterns[] = [];
  /**
   * The groups that have changed since the last write, by fingerprint. A group that is no longer in `#groups` is removed from the store.
   * The value is the last job that `take` has added to the group. Null: `take` has added no job, or the group was dropped afterwards.
   */
  readonly #changed = new Map<string, AddedJob | null>();
  /** The key at which the sweep for pruned jobs continues. Null: it continues at the oldest page. */
  #swept: Buffer | null = null;
  /** Whether the groups' first and last jobs must be checked after the sweep: the sweep has removed records, or this object is new. */
  #mustMend = true;
  #isSweepOver = false;

  constructor(stores: IndexStores, groupsMax = failureGroupsMax) {
    this.#stores = stores;
    this.#attempts = new AttemptReader(stores.ledger);
    this.#names = new NameTable(stores.ledger);
    this.#pages = new FailurePages(stores.index);
    this.#groupsMax = groupsMax;
    this.#groups = byRecency(
      Array.from(stores.index.scan('failures', {}), ({ key, value }) => decodeGroup(key, value)),
    );
  }

  take(entries: readonly JournalEntry[], batch: Batch<IndexTable>): number {
    let commands: readonly CommandName[] | null = null;
    for (const entry of entries) {
      if (!isFailure(entry)) continue;
      commands ??= this.#names.commands;
      this.#takeOne(entry, commands[entry.commandNumber]!, batch);
    }
    this.#write(batch);
    return entries.length;
  }

  #takeOne(entry: JournalEntry, owner: CommandName, batch: Batch<IndexTable>): void {
    const attempt = this.#attempts.find(entry);
    // The attempt of a pruned job is not found.
    if (!attempt) return;
    const line = errorLineOf(attempt);
    const { fingerprint, key } = this.#patternOf(owner, line);
    let added = this.#changed.get(fingerprint);
    if (added) {
      added.entry = entry;
      added.line = line;
    } else {
      added = { group: this.#groups.get(fingerprint) ?? this.#begin(fingerprint, owner, entry, line), entry, line };
      this.#changed.set(fingerprint, added);
    }
    if (++added.group.count > 1) this.#onTrial.delete(fingerprint);
    this.#touch(fingerprint, added.group);
    addHour(added.group.hours, entry.atUs);
    this.#pages.append(entry, key, batch);
  }

  /**
   * Begins a group with this job, which is not counted yet. If there are already `#groupsMax` groups, one of them is
   * dropped.
   */
  #begin(fingerprint: string, { plugin, command }: CommandName, entry: JournalEntry, line: Uint8Array): FailureGroup {
    if (this.#groups.size >= this.#groupsMax) {
      this.#drop(this.#leastMissed());
      this.#onTrial.add(fingerprint);
    }
    const first = { atUs: entry.atUs, place: entry.place };
    const sample = { jobId: entry.id, message: '' };
    const pattern = patternOf(lineText(line));
    const group = { fingerprint, plugin, command, pattern, count: 0, first, last: first, sample, hours: new Map() };
    this.#groups.set(fingerprint, group);
    return group;
  }

  /**
   * The group to drop: among the groups that are not on trial, the one that was seen least recently. Once a quarter of
   * the groups is on trial, the oldest group on trial is dropped instead. So errors that occur only once, or many
   * errors that alternate, push out at most a quarter of the groups.
   */
  #leastMissed(): string {
    const isTrialFull = this.#onTrial.size >= this.#groupsMax * failureTrialShare;
    for (const fingerprint of isTrialFull ? this.#onTrial : this.#groups.keys())
      if (isTrialFull || !this.#onTrial.has(fingerprint)) return fingerprint;
    throw new Error('more groups are on trial than there are groups');
  }

  /** Moves the group to the end of `#groups`, because it was seen last. */
  #touch(fingerprint: string, group: FailureGroup): void {
    if (this.#newest === fingerprint) return;
    this.#newest = fingerprint;
    this.#groups.delete(fingerprint);
    this.#groups.set(fingerprint, group);
  }

  #patternOf({ number, plugin, command }: CommandName, line: Uint8Array): KnownPattern {
    this.#patterns[number] ??= { byPattern: new Map(), line: new Uint8Array(0), last: null };
    const known = this.#patterns[number];
    // Jobs that fail one after the other often have equal errors, or errors that differ only in numbers.
    if (known.last !== null && differInNumbers(known.line, line)) return known.last;
    const pattern = patternOf(lineText(line));
    let found = known.byPattern.get(pattern);
    if (found === undefined) {
      const fingerprint = fingerprintOf(plugin, command, pattern);
      found = { fingerprint, key: groupKey(fingerprint) };
      if (known.byPattern.size >= this.#groupsMax) known.byPattern.clear();
      known.byPattern.set(pattern, found);
    }
    known.line = Uint8Array.from(line);
    known.last = found;
    return found;
  }

  #drop(fingerprint: string): void {
    if (this.#newest === fingerprint) this.#newest = null;
    this.#groups.delete(fingerprint);
    this.#onTrial.delete(fingerprint);
    this.#changed.set(fingerprint, null);
  }

  #write(batch: Batch<IndexTable>): void {
    for (const [fingerprint, added] of this.#changed) {
      const group = this.#groups.get(fingerprint);
      if (added) setLast(added);
      if (group) batch.put('failures', groupKey(fingerprint), encodeGroup(group));
      else batch.remove('failures', groupKey(fingerprint));
    }
    this.#changed.clear();
    this.#pages.write(batch);
  }

  /**
   * Each call reads some pages of the records of failed jobs, and subtracts pruned jobs from their groups. If
   * `#mustMend` is set after the last page, another call corrects the first and last jobs of groups.
   */
  prune(upToUs: number, batch: Batch<IndexTable>): boolean {
    if (!this.#isSweepOver) {
      const entryOf = entryFinder(this.#stores.ledger);
      this.#swept = this.#pages.sweep(this.#swept, upToUs, entryOf, record => this.#subtract(record), batch);
      this.#isSweepOver = this.#swept === null;
      this.#write(batch);
      if (!this.#isSweepOver || this.#mustMend) return true;
    }
    this.#isSweepOver = false;
    if (this.#mustMend) this.#mend(upToUs);
    this.#mustMend = false;
    this.#write(batch);
    return false;
  }

  #subtract(record: FailureRecord): void {
    this.#mustMend = true;
    const group = this.#groups.get(record.fingerprint);
    // Jobs before the group's first job were counted in an earlier group with this fingerprint. That group was dropped.
    if (!group || isBefore(record, group.first)) return;
    group.count--;
    subtractHour(group.hours, record.atUs);
    if (group.count === 0) this.#drop(record.fingerprint);
    else this.#changed.set(record.fingerprint, null);
  }

  /** Finds the first and last stored jobs of groups whose first or last job may have been pruned. */
  #mend(upToUs: number): void {
    const groups = [...this.#groups.values()];
    const withoutFirst = new Set(groups.filter(({ first }) => first.atUs <= upToUs));
    const lastRecords = new Map<FailureGroup, FailureRecord>();
    for (const record of withoutFirst.size === 0 ? [] : this.#pages.records()) {
      if (record.atUs > upToUs && withoutFirst.size === 0) break;
      const group = this.#groups.get(record.fingerprint);
      if (!group || isBefore(record, group.first)) continue;
      if (withoutFirst.delete(group)) this.#mendFirst(group, record);
      if (group.last.atUs <= upToUs) lastRecords.set(group, record);
    }
    for (const [group, record] of lastRecords) this.#mendLast(group, record);
    this.#groups = byRecency([...this.#groups.values()]);
    this.#newest = null;
  }

  #mendFirst(group: FailureGroup, { atUs, place }: FailureRecord): void {
    if (!isBefore(group.first, { atUs, place })) return;
    group.first = { atUs, place };
    this.#changed.set(group.fingerprint, null);
  }

  #mendLast(group: FailureGroup, { atUs, place }: FailureRecord): void {
    if (!isBefore({ atUs, place }, group.last)) return;
    const entry = entryFinder(this.#stores.ledger)({ atUs, place });
    const attempt = entry && this.#attempts.find(entry);
    if (!entry || !attempt) return;
    setLast({ group, entry, line: errorLineOf(attempt) });
    this.#changed.set(group.fingerprint, null);
  }
}

/** Makes the job the last one of its group. */
function setLast({ group, entry, line }: AddedJob): void {
  group.last = { atUs: entry.atUs, place: entry.place };
  group.sample = { jobId: Buffer.from(entry.id), message: sampleOf(lineText(line)) };
}

function byRecency(groups: readonly FailureGroup[]): Map<string, FailureGroup> {
  const sorted = groups.toSorted((a, b) => (isBefore(a.last, b.last) ? -1 : 1));
  return new Map(sorted.map(group => [group.fingerprint, group]));
}
