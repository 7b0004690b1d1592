// Runs that were accepted as a batch and have not begun. One commit stores the jobs of all runs of a batch. One turn
// has no time to begin thousands of runs. So the runs begin block by block in later turns, with the definition that was
// in force when they were accepted. Delayed runs of a batch begin like any delayed run (delayed-runs.ts).
import { type BlockKey, blockOf, type JobId, jobId } from '../../../runtime/ids.ts';
import { packedEmpty } from '../../../runtime/packing.ts';
import type { EntryEvent } from '../../job/protocol.ts';
import { type Block, findBlock } from '../../job/records/block.ts';
import { rootGroup } from '../../job/records/job.ts';
import { findOpen, keyText } from '../../job/records/open.ts';
import { isLater, type JobOptions } from '../../job/records/options.ts';
import type { Version } from '../definition/definition-versions.ts';
import { type AcceptedBlock, decodeAccepted, encodeAccepted } from '../records/accepted-runs.ts';
import type { RunTable } from '../run-table.ts';
import { enterRun, type RunStart } from './run-start.ts';

export class AcceptedRuns {
  readonly #table: RunTable;
  /** By block key: the blocks whose runs can begin, oldest first. */
  readonly #waiting = new Map<string, AcceptedBlock>();
  /** The blocks that this turn has created. Their records can be read from the next turn on. */
  #arriving: AcceptedBlock[] = [];
  #begunInTurn = 0;
  /** The number of accepted runs that have not begun, excluding delayed ones. */
  count = 0;

  constructor(table: RunTable) {
    this.#table = table;
    const { reader, setAside } = table;
    for (const { key, value } of reader.scan('accepted_runs', {})) {
      const own = Buffer.from(key);
      const block = setAside.read('accepted_runs', own, () => decodeAccepted(own, Buffer.from(value)));
      if (!block) continue;
      this.#waiting.set(keyText(own), block);
      this.count += block.count;
    }
  }

  /** Creates the jobs that stand for the runs, and returns their ids. Runs that are not delayed begin in the next turns. */
  accept(
    version: Version,
    submittedBy: string,
    event: EntryEvent,
    payloads: readonly Uint8Array[],
    options: JobOptions | null,
  ): JobId[] {
    const { batch, jobs, turn, versions } = this.#table;
    const envelope = { ...event, dedupeKey: null };
    const group = { ...rootGroup, submittedBy, event: envelope, context: packedEmpty, options };
    const ids = jobs.createRuns(version.name, group, payloads, turn);
    if (isLater(options, turn.nowUs)) return ids;
    versions.keep(version, batch);
    versions.count(version, ids.length, 0, 0, 0);
    for (const [key, count] of blocksOf(ids)) {
      const block = { key, count, hash: version.hash };
      batch.put('accepted_runs', key, encodeAccepted(block));
      this.#arriving.push(block);
    }
    this.count += ids.length;
    return ids;
  }

  /** Begins a turn: the blocks that the previous turn created can be read. */
  renew(): void {
    this.#begunInTurn = 0;
    for (const block of this.#arriving) this.#waiting.set(keyText(block.key), block);
    this.#arriving = [];
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0 || this.#arriving.length > 0;
  }

  /** Begins the runs of the oldest block. False: no block is waiting, or the turn has no room for more runs. */
  step(): boolean {
    const { turn, isFull } = this.#table;
    const [block] = this.#waiting.values();
    if (!block || (this.#begunInTurn > 0 && (turn.isSpent || isFull))) return false;
    this.#begin(block);
    return true;
  }

  /** If the run is in a waiting block, begins all runs of the block. */
  beginIfWaiting(id: JobId): void {
    if (this.#waiting.size === 0) return;
    const block = this.#waiting.get(keyText(blockOf(id)));
    if (block) this.#begin(block);
  }

  #begin({ key, count, hash }: AcceptedBlock): void {
    const table = this.#table;
    const { batch, reader, setAside, versions } = table;
    this.#waiting.delete(keyText(key));
    this.count -= count;
    this.#begunInTurn++;
    // If the block of jobs or its open record is unusable, the record in `accepted_runs` is set aside.
    const starts = setAside.read('accepted_runs', key, () => {
      findOpen(reader, key);
      return startsOf(findBlock(reader, jobId(key, 0)), count);
    });
    if (!starts) return;
    const version = versions.ofHash(hash);
    versions.count(version, -count, 0, 0, 0);
    batch.remove('accepted_runs', key);
    for (const [index, start] of starts.entries()) enterRun(table, version, jobId(key, index), start, start.createdUs);
  }
}

/** The blocks of these ids, each with the number of ids in it. */
function blocksOf(ids: readonly JobId[]): Iterable<readonly [BlockKey, number]> {
  const blocks = new Map<string, [BlockKey, number]>();
  for (const id of ids) {
    const name = keyText(blockOf(id));
    const block = blocks.get(name);
    if (block) block[1]++;
    else blocks.set(name, [Buffer.from(blockOf(id)), 1]);
  }
  return blocks.values();
}

function startsOf(block: Block | undefined, count: number): readonly (RunStart & { readonly createdUs: number })[] {
  if (block?.count !== count) throw new Error('the block of accepted runs is not whole');
  const { createdUs } = block;
  const { submittedBy, event, context, options } = block.group(0);
  const common = { ...rootGroup, submittedBy, event: event!, context, options, called: null, createdUs };
  return Array.from({ length: count }, (_, index) => ({ ...common, payload: block.payload(index) }));
}
