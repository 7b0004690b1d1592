// Records that a process finds undecodable: when it reads them, it gets bytes that are no record. The store keeps the true values, for the
// checks. A tree with such a record is damaged, and may stop where it is; everything else goes on.

import { pipelinePlugin } from '../../../actors/job/records/job.ts';
import { blockKeyBytes, blockOf, jobId, parseId } from '../../../runtime/ids.ts';
import type { Store, Table } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { Commits } from './commits.ts';
import type { Dice } from './dice.ts';
import type { Faults } from './faults.ts';
import type { RunLimits } from './ledger.ts';
import { openIn } from './remembered.ts';

/** Tables whose records are poisoned. */
const poisonable = ['open', 'retries', 'runs', 'emissions'] as const satisfies readonly Table[];
/**
 * The most in one world. Runs that are set aside count as open for ever. So a world with a lower limit of open runs gets none, and no block
 * with so many runs that others might find no room is poisoned.
 */
const poisonedMax = 2;
const openRunsMin = 30;
const runsMax = 10;
/** The head of a packed list of three, without its elements. */
const garbage = Buffer.of(0x93);
const runKeyBytes = 16;

type LoggedRecord = { readonly table?: Table; readonly key?: string };

export class Poison {
  /** Roots of trees that may not settle. */
  readonly roots = new Set<string>();
  readonly #records = new Map<string, { readonly table: Table; readonly key: Buffer }>();
  readonly #truth: Store;
  readonly #commits: Commits;
  readonly #isPossible: boolean;
  #count = 0;

  constructor(truth: Store, commits: Commits, { openRunsMax }: RunLimits) {
    this.#isPossible = openRunsMax >= openRunsMin;
    this.#truth = truth;
    this.#commits = commits;
  }

  get isWanted(): boolean {
    return this.#isPossible && this.#count < poisonedMax;
  }

  /** Poisons one of the records by which work continues; false if there are none. */
  strike(dice: Dice): boolean {
    const table = dice.pick(poisonable);
    const keys = Array.from(this.#truth.keys(table, {})).filter(key => this.#isWorkedBy(table, key));
    if (keys.length === 0) return false;
    const key = Buffer.from(dice.pick(keys));
    this.#count++;
    for (const root of this.#commits.rootsOf(table, key)) this.roots.add(root);
    this.#records.set(nameOf(table, key), { table, key });
    if (table === 'open' || table === 'retries') this.#commits.poisoned(key);
    return true;
  }

  /** Whether work continues by this record. The job of an action does not: the action has a record of its own. */
  #isWorkedBy(table: Table, key: Uint8Array): boolean {
    if (table === 'runs') return key.length === runKeyBytes;
    if (table !== 'open') return true;
    const { plugin, count } = openIn(key, this.#truth.get('open', key)!);
    if (plugin === pipelinePlugin && count > runsMax) return false;
    return this.#truth.get('actions', jobId(Buffer.from(key), 0)) === undefined;
  }

  has(table: Table, key: Uint8Array): boolean {
    return this.#records.size > 0 && this.#records.has(nameOf(table, key));
  }

  /** Checks a line of the log: its cause must be a poisoned record or message, or a full disk. */
  logged(message: string, fields: object, faults: Pick<Faults, 'note'>): void {
    const { error = '', ...record } = fields as LoggedRecord & { readonly error?: string };
    if (this.#isOf(record)) faults.note('recordPoisoned');
    if (this.#explains({ ...record, error })) return;
    const isOurs = /^(?:Error: )?poisoned/.test(error) || message === 'the disk is full';
    holds(isOurs, () => `${message}: ${error}`);
  }

  /** Runs are set aside, too, if the open record of their block is poisoned. */
  #isOf({ table, key = '' }: LoggedRecord): boolean {
    if (table === undefined) return false;
    const bytes = Buffer.from(key, 'hex');
    const isOfRuns = table === 'runs' || table === 'accepted_runs';
    return this.has(table, bytes) || (isOfRuns && this.has('open', bytes.subarray(0, blockKeyBytes)));
  }

  /** Whether a poisoned record, or a run with one, is the cause of the line. */
  #explains({ error, ...record }: LoggedRecord & { readonly error: string }): boolean {
    if (this.#isOf(record)) return true;
    const [, run] = /^(?:Error: )?run ([0-9a-f-]{36}): /.exec(error) ?? [];
    const id = run && parseId(run);
    return Boolean(id && (this.has('runs', id) || this.has('open', blockOf(id))));
  }

  /** Checks a write: of the records that are set aside, only those of retries may be written again. */
  written(table: Table, key: Uint8Array): void {
    if (!this.has(table, key)) return;
    holds(table === 'retries', () => `a record of ${table} that was set aside is written`);
    this.#records.delete(nameOf(table, key));
  }

  /** The store as a process reads it. */
  over(store: Store): Store {
    const { has } = this;
    const isHere = has.bind(this);
    return {
      ...store,
      get: (table, key) => (isHere(table, key) ? garbage : store.get(table, key)),
      scan: (table, range) => {
        const records = store.scan(table, range);
        if (this.#records.size === 0) return records;
        return Array.from(records, ({ key, value }) => ({ key, value: isHere(table, key) ? garbage : value }));
      },
    };
  }
}

function nameOf(table: Table, key: Uint8Array): string {
  return `${table} ${Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')}`;
}
