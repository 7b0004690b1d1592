// Groups failed jobs by their fingerprints (records/fingerprint.ts), and subtracts pruned jobs from their groups. The groups follow from
// the stored jobs alone: a rebuilt index has the same ones.
import { bodyPart } from '../../runtime/host/wire/outcome.ts';
import type { Batch, IndexTable } from '../../runtime/store/store.ts';
import {
  AttemptReader,
  entryAt,
  isBefore,
  type JournalEntry,
  type JournalPosition,
  usKey,
} from '../job/records/journal.ts';
import { type CommandName, NameTable } from '../job/records/name-table.ts';
import type { IndexStores, JournalConsumer } from './consumer.ts';
import { FailurePages } from './failure-pages.ts';
import {
  addHour,
  decodeGroup,
  encodeGroup,
  type FailureGroup,
  type FailureRecord,
  failureGroupsMax,
  failureOf,
  failuresName,
  groupKey,
  isFailure,
  subtractHour,
} from './records/failures.ts';
import { failureText, fingerprintOf } from './records/fingerprint.ts';

export class FailureIndex implements JournalConsumer {
  readonly name = failuresName;
  readonly #stores: IndexStores;
  readonly #attempts: AttemptReader;
  readonly #names: NameTable;
  readonly #pages: FailurePages;
  readonly #groupsMax: number;
  /** By fingerprint; the group that was seen least recently comes first. */
  #groups: Map<string, FailureGroup>;
  /** Fingerprints that were computed before, by the number of the command and the pattern. */
  readonly #fingerprints = new Map<string, string>();
  /** The fingerprints of the groups that must be written, or removed if they are not in `#groups`. */
  readonly #changed = new Set<string>();
  /** Where the sweep for pruned jobs continues. Null: at the oldest page. */
  #swept: Buffer | null = null;
  /** Whether the first and last jobs of groups must be checked when a sweep has ended: it has removed jobs, or this object is new. */
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
    // The attempt is no longer stored.
    if (!attempt) return;
    const { pattern, sample: message } = failureText(bodyPart(attempt.stored, 'error'));
    const fingerprint = this.#fingerprintOf(owner, pattern);
    const place = { atUs: entry.atUs, place: entry.place };
    const sample = { jobId: Buffer.from(entry.id), message };
    const known = this.#groups.get(fingerprint);
    const { plugin, command } = owner;
    const group: FailureGroup = known ?? {
      ...{ fingerprint, plugin, command, pattern, count: 0, first: place, last: place, sample },
      hours: new Map(),
    };
    group.count++;
    group.last = place;
    group.sample = sample;
    addHour(group.hours, entry.atUs);
    this.#groups.delete(fingerprint);
    this.#groups.set(fingerprint, group);
    this.#changed.add(fingerprint);
    if (this.#groups.size > this.#groupsMax) this.#drop(this.#groups.keys().next().value!);
    this.#pages.append({ ...place, fingerprint }, batch);
  }

  #fingerprintOf({ number, plugin, command }: CommandName, pattern: string): string {
    const key = `${number}\0${pattern}`;
    let fingerprint = this.#fingerprints.get(key);
    if (fingerprint === undefined) {
      fingerprint = fingerprintOf(plugin, command, pattern);
      if (this.#fingerprints.size >= this.#groupsMax) this.#fingerprints.clear();
      this.#fingerprints.set(key, fingerprint);
    }
    return fingerprint;
  }

  #drop(fingerprint: string): void {
    this.#groups.delete(fingerprint);
    this.#changed.add(fingerprint);
  }

  #write(batch: Batch<IndexTable>): void {
    for (const fingerprint of this.#changed) {
      const group = this.#groups.get(fingerprint);
      if (group) batch.put('failures', groupKey(fingerprint), encodeGroup(group));
      else batch.remove('failures', groupKey(fingerprint));
    }
    this.#changed.clear();
    this.#pages.write(batch);
  }

  /** Sweeps through the records of failed jobs, some pages at a time. A last step then mends the first and last jobs of groups. */
  prune(upToUs: number, batch: Batch<IndexTable>): boolean {
    if (!this.#isSweepOver) {
      this.#swept = this.#pages.sweep(this.#swept, upToUs, this.#storedIn(), record => this.#subtract(record), batch);
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

  /** Returns a function that tells whether the ledger still has the attempt at a place of the journal. */
  #storedIn(): (place: JournalPosition) => boolean {
    let commitUs = -1;
    let commit: Uint8Array | undefined;
    return ({ atUs, place }) => {
      if (atUs !== commitUs) commit = this.#stores.ledger.get('journal', usKey(atUs));
      commitUs = atUs;
      return commit !== undefined && entryAt(atUs, place, commit) !== undefined;
    };
  }

  #subtract(record: FailureRecord): void {
    this.#mustMend = true;
    const group = this.#groups.get(record.fingerprint);
    // Jobs before the first one were counted in an earlier group of this fingerprint, which was dropped.
    if (!group || isBefore(record, group.first)) return;
    group.count--;
    subtractHour(group.hours, record.atUs);
    this.#changed.add(record.fingerprint);
    if (group.count === 0) this.#groups.delete(record.fingerprint);
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
  }

  #mendFirst(group: FailureGroup, { atUs, place }: FailureRecord): void {
    if (!isBefore(group.first, { atUs, place })) return;
    group.first = { atUs, place };
    this.#changed.add(group.fingerprint);
  }

  #mendLast(group: FailureGroup, { atUs, place }: FailureRecord): void {
    if (!isBefore({ atUs, place }, group.last)) return;
    const commit = this.#stores.ledger.get('journal', usKey(atUs));
    const entry = commit && entryAt(atUs, place, commit);
    const attempt = entry && this.#attempts.find(entry);
    if (!entry || !attempt) return;
    group.last = { atUs, place };
    group.sample = { jobId: Buffer.from(entry.id), message: failureOf(attempt, group).sample };
    this.#changed.add(group.fingerprint);
  }
}

function byRecency(groups: readonly FailureGroup[]): Map<string, FailureGroup> {
  const sorted = groups.toSorted((a, b) => (isBefore(a.last, b.last) ? -1 : 1));
  return new Map(sorted.map(group => [group.fingerprint, group]));
}
