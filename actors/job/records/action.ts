// The table of actions over many jobs: what each one that has not ended does, to which jobs, and how far it has come. The record goes
// when the action ends: its result has the counts then.
import type { JobId } from '../../../runtime/ids.ts';
import { type JsonObject, pack, unpack } from '../../../runtime/packing.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { Status } from './job.ts';

/** What an action does to each job; also the command of its own job. */
export const deeds = ['cancel', 'rerun', 'run_now'] as const;
export type Deed = (typeof deeds)[number];

/** Why an action left a job as it was. */
export const skipReasons = [
  'already_settled',
  'ending',
  'not_settled',
  'not_kept',
  'not_found',
  'not_waiting',
] as const;
export type SkipReason = (typeof skipReasons)[number];
export type DeedOutcome = 'done' | 'failed' | SkipReason;

/** Actions that have not ended, at most. */
export const actionsOpenMax = 100;
/** Jobs that an action takes in one turn, at most. */
export const stepJobsMax = 1_024;

/** Which jobs; null: any. */
export type Selection = {
  readonly plugin: string | null;
  readonly command: string | null;
  readonly status: Status | null;
  readonly submittedBy: string | null;
  /** Runs of this pipeline; with children also the jobs of its steps. */
  readonly pipeline: string | null;
  readonly jobId: JobId | null;
  readonly run: JobId | null;
  readonly root: JobId | null;
  readonly parent: JobId | null;
  /** Words of the last error. */
  readonly error: string | null;
  /** Words of the log of an attempt that ended between the two times, in µs, both inclusive. */
  readonly query: string | null;
  readonly fromUs: number | null;
  readonly toUs: number | null;
  /** Also jobs inside runs. */
  readonly children: boolean;
};

/** The moment as of which a selection is taken: the end of a turn of the ledger. */
export type Moment = {
  readonly atUs: number;
  /** All blocks up to then have a key below it. */
  readonly block: Uint8Array;
  /** The newest commit of the journal. */
  readonly commitUs: number;
};

export type ActionPlan = {
  readonly deed: Deed;
  readonly selection: Selection;
  readonly moment: Moment;
  /** The commit up to which attempts were searched for words. Null: nothing is searched. */
  readonly searchedUs: number | null;
  /** How many jobs it takes at most. */
  readonly limit: number | null;
  readonly perSecond: number | null;
  readonly reason: string | null;
  readonly by: string;
  /** How many jobs the selection had at its moment. */
  readonly matched: number;
};

export type ActionProgress = {
  /** The last job that was looked at. Jobs are taken in the order of their ids. */
  readonly cursor: JobId | null;
  readonly done: number;
  readonly failed: number;
  readonly skipped: { readonly [R in SkipReason]?: number };
};
export type Action = { readonly plan: ActionPlan; readonly progress: ActionProgress };
export type ActionCounts = Omit<ActionProgress, 'cursor'>;

export const noProgress: ActionProgress = { cursor: null, done: 0, failed: 0, skipped: {} };

/** Jobs that the action has looked at. */
export function takenBy({ done, failed, skipped }: ActionCounts): number {
  return done + failed + Object.values(skipped).reduce((sum, count) => sum + count, 0);
}

export function putAction(batch: Batch, id: JobId, { plan, progress }: Action): void {
  batch.put('actions', id, pack([plan, progress]));
}

export function decodeAction(value: Uint8Array): Action {
  const [plan, progress] = unpack<[ActionPlan, ActionProgress]>(value);
  return { plan, progress };
}

/** Undefined: the action has ended, or there is none. */
export function readAction(reader: Reader, id: JobId): Action | undefined {
  const value = reader.get('actions', id);
  return value && decodeAction(value);
}

/** What GET /job shows as the result of an action that has ended. */
export function resultOf(matched: number, { done, failed, skipped }: ActionCounts): Uint8Array {
  return pack({ matched, done, skipped, failed });
}

export type ActionResult = ActionCounts & { readonly matched: number };

export function readResult(packed: Uint8Array): ActionResult {
  return unpack<ActionResult & JsonObject>(packed);
}
