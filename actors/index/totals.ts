// Maintains the running totals of the metrics from the times that the stopwatch measures. The pages of the stopwatch and the totals are
// committed together.
import type { Batch, IndexTable, Reader } from '../../runtime/store/store.ts';
import type { TerminalStatus } from '../job/records/job.ts';
import type { JournalEntry } from '../job/records/journal.ts';
import type { CommandName } from '../job/records/name-table.ts';
import { type TotalKind, TotalRecord, totalKey } from './records/totals.ts';

/** The places of the histograms in the record of a command (records/totals.ts). */
const places = { queue: 0, attempt: 1, total: 2 } as const;

type EndedAttempt = Pick<JournalEntry, 'atUs' | 'id' | 'ranUs'>;

export class Totals {
  readonly #index: Pick<Reader<IndexTable>, 'get'>;
  /** The records of commands, by command number. */
  readonly #commands: TotalRecord[] = [];
  readonly #runs = new Map<string, TotalRecord>();
  readonly #steps = new Map<string, TotalRecord>();
  #dirty: TotalRecord[] = [];

  constructor(index: Pick<Reader<IndexTable>, 'get'>) {
    this.#index = index;
  }

  /** `queueUs`: how long the job waited for a worker; null: the attempt is not the job's first. */
  attempt(entry: EndedAttempt, name: CommandName, queueUs: number | null): void {
    const record = this.#commandOf(name);
    if (queueUs !== null) record.add(places.queue, queueUs, entry);
    record.add(places.attempt, entry.ranUs, entry);
  }

  /** `totalUs`: the time from the acceptance of the job to its end. */
  job(entry: EndedAttempt, name: CommandName, totalUs: number): void {
    this.#commandOf(name).add(places.total, totalUs, entry);
  }

  /** `step`: the pipeline and the step id, in the form of `pipelineStep` (records/stopwatch.ts). */
  step(entry: EndedAttempt, step: string): void {
    const slash = step.indexOf('/');
    this.#addTo(this.#steps, 'step', step, [step.slice(0, slash), step.slice(slash + 1)], entry);
  }

  run(entry: EndedAttempt, pipeline: string, status: TerminalStatus): void {
    this.#addTo(this.#runs, 'run', `${pipeline}/${status}`, [pipeline, status], entry);
  }

  /** Adds all changed records to the batch. */
  write(batch: Batch<IndexTable>): void {
    for (const record of this.#dirty) {
      record.isDirty = false;
      batch.put('totals', record.key, record.encode());
    }
    this.#dirty = [];
  }

  #commandOf({ number, plugin, command }: CommandName): TotalRecord {
    let record = this.#commands[number];
    if (!record) {
      record = this.#open('command', [plugin, command]);
      this.#commands[number] = record;
    }
    this.#touch(record);
    return record;
  }

  #addTo(
    records: Map<string, TotalRecord>,
    kind: TotalKind,
    name: string,
    names: readonly [string, string],
    entry: EndedAttempt,
  ): void {
    let record = records.get(name);
    if (!record) {
      record = this.#open(kind, names);
      records.set(name, record);
    }
    this.#touch(record);
    record.add(0, entry.ranUs, entry);
  }

  #touch(record: TotalRecord): void {
    if (record.isDirty) return;
    record.isDirty = true;
    this.#dirty.push(record);
  }

  #open(kind: TotalKind, names: readonly [string, string]): TotalRecord {
    const key = totalKey(kind, names);
    return new TotalRecord(kind, key, this.#index.get('totals', key));
  }
}
