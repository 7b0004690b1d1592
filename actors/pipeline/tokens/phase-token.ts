// The token with which a phase begins. Its payload describes the run, and how the parts before the phase ended.
import { formatId, indexOf } from '../../../runtime/ids.ts';
import { pack, packedNull } from '../../../runtime/packing.ts';
import { asSections, type Section } from '../../../runtime/parted.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { contentsOf, mapHead } from '../../../runtime/splice.ts';
import { latestAttempt } from '../../job/records/attempts.ts';
import { findBlock, groupOf } from '../../job/records/block.ts';
import type { FanOut, ParkedPlan } from '../fanout/fanout.ts';
import type { StoredFailure } from '../records/run.ts';
import type { Run } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { joined, ownBytesOf, writtenInParts } from '../steps/payload-with.ts';
import { Packed, type Token } from './token.ts';

/** The maximum length, in characters, of a failed job's error in the payload. */
export const failureCharsMax = 1_000;

export class PhaseTokens {
  readonly #table: RunTable;
  /** By parked token: the work on its payload, which may take several turns. */
  readonly #unfinished = new WeakMap<FanOut, Sliced<Token>>();

  constructor(table: RunTable) {
    this.#table = table;
  }

  /** Continues to make the parked token. Null: the token is not complete yet. */
  next(run: Run, fan: FanOut, plan: ParkedPlan): Token | null {
    const unfinished = this.#unfinished.get(fan) ?? tokenOf(this.#table, run, fan.id + 1, plan);
    this.#unfinished.set(fan, unfinished);
    const step = unfinished.next();
    return step.done ? step.value : null;
  }
}

/** Makes the token, with the baggage and the depth of the run itself. `id`: the number under which parts of its payload are written. */
function* tokenOf(table: RunTable, run: Run, id: number, { event }: ParkedPlan): Sliced<Token> {
  const block = findBlock(table.reader, run.id);
  if (!block) throw new Error(`an open run has no block: ${formatId(run.id)}`);
  const index = indexOf(run.id);
  const { context, depth } = groupOf(block, index).group;
  const sections = payloadOf(table, run, block.payload(index));
  const isLarge = ownBytesOf(sections) > table.partedBytesMin;
  const stored = isLarge ? yield* writtenInParts(table, run, id, sections) : joined(sections);
  const payload = new Packed(stored, table.evaluationLimits);
  const origin = { path: [], context: new Packed(context), event, depth, cause: null };
  return { ...origin, payload, result: packedNull, storedAs: null, isReused: false };
}

/** `{run: {job_id, pipeline, payload}, status, error, failed, counts}`. The payload of the run is not copied if it is in parts. */
function payloadOf(table: RunTable, run: Run, payload: Uint8Array): readonly Section[] {
  const { status, error, counts } = run.phase!;
  const failed = run.failures.map(failure => describe(table, run, failure));
  const more = pack({ status, error: error === '' ? null : error, failed, counts });
  const own = ['job_id', formatId(run.id), 'pipeline', run.version.name, 'payload'].map(text => pack(text));
  const head = Buffer.concat([mapHead(5), pack('run'), mapHead(3), ...own]);
  return [head, ...asSections(payload), more.subarray(contentsOf(more))];
}

function describe({ reader }: RunTable, { version }: Run, [job, node, status]: StoredFailure) {
  const at = version.compiled.nodes[node];
  const error = latestAttempt(reader, job)?.attempt.text('error') ?? status;
  return {
    job_id: formatId(job),
    step_id: at?.kind === 'work' ? at.step.id : null,
    status,
    error: error.slice(0, failureCharsMax),
  };
}
