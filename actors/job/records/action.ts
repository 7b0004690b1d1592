// The table of open actions over many jobs. A record holds the plan and the progress of an action. When the action ends, its record is
// removed, and the result of the action's job holds the counts.
import type { Recurrence } from '../../../runtime/calendar/recurrence.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { type JsonObject, pack, unpack } from '../../../runtime/packing.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { AcceptedRange } from './accepted.ts';
import type { RerunFrom, Status } from './job.ts';

/** What an action does to each job. The operation is also the command of the job that stands for the action. */
export const jobOperations = ['cancel', 'rerun', 'run_now'] as const;
export type JobOperation = (typeof jobOperations)[number];
/** The commands of the jobs that stand for actions. A backfill creates jobs instead of acting on existing ones. */
export const actionCommands = [...jobOperations, 'backfill'] as const;

/**
 * The schedule whose occurrences a backfill fires, and the period of the past in which they lie: from `fromMs` to `toMs`, both
 * inclusive, in ms since the epoch.
 */
export type BackfillPlan = {
  readonly schedule: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** The times of the schedule when the backfill was requested. Absent: an earlier version accepted the request. */
  readonly times?: BackfillTimes;
};
export type BackfillTimes = { readonly recurrence: Recurrence; readonly originMs: number };

/** Why an action left a job or an occurrence as it was. docs/engine.md explains the reasons for jobs. */
export const skipReasons = [
  'already_settled',
  'ending',
  'not_settled',
  'not_kept',
  'not_found',
  'not_waiting',
  'already_fired',
] as const;
export type SkipReason = (typeof skipReasons)[number];
export type OperationOutcome = 'done' | 'failed' | SkipReason;

export const actionsOpenMax = 100;
/** The maximum number of jobs that one step of an action handles. */
export const stepJobsMax = 1_024;

/** A filter for jobs. A field that is null or absent accepts every job. */
export type Selection = {
  readonly plugin: string | null;
  readonly command: string | null;
  readonly status: Status | null;
  readonly submittedBy: string | null;
  /** The pipeline whose runs match. If `children` is set, the jobs of its steps match, too. */
  readonly pipeline: string | null;
  readonly jobId: JobId | null;
  readonly run: JobId | null;
  readonly root: JobId | null;
  readonly parent: JobId | null;
  /** The original job: a matching job must be a rerun of it. */
  readonly rerunOf?: JobId;
  /** Tags that the job must have, each as `key:text`. */
  readonly tags?: readonly string[];
  /** The range in which the job must have been accepted. Absent: any time. */
  readonly accepted?: AcceptedRange;
  /** The words that the last error of the job must contain. */
  readonly error: string | null;
  /** The fingerprint with which the job must have failed. */
  readonly fingerprint?: string;
  /**
   * The job must have an attempt whose log contains the words `query`, and which ended between `fromUs` and `toUs`, in µs, both
   * inclusive. A null field sets no condition.
   */
  readonly query: string | null;
  readonly fromUs: number | null;
  readonly toUs: number | null;
  /** Whether jobs inside runs match, too. */
  readonly children: boolean;
  /** Set if jobs of phases do not match, because they cannot be rerun. */
  readonly withoutPhases?: true;
};

/** The selection whose only condition is that jobs inside runs do not match. The plan of a backfill has it as a placeholder. */
export const noSelection: Selection = {
  plugin: null,
  command: null,
  status: null,
  submittedBy: null,
  pipeline: null,
  jobId: null,
  run: null,
  root: null,
  parent: null,
  error: null,
  query: null,
  fromUs: null,
  toUs: null,
  children: false,
};

/** The point in time at which a selection is evaluated: the turn in which the ledger handled a MomentQuery. `atUs`: the time of this turn. */
export type Moment = {
  readonly atUs: number;
  /** A block key. All blocks that were created before the moment have smaller keys. */
  readonly block: Uint8Array;
  /** The time, in the journal, of the commit of the turn that handled the MomentQuery. Later commits have later times. */
  readonly commitUs: number;
};

export type ActionPlan = {
  readonly operation: (typeof actionCommands)[number];
  /** Only for `backfill`, which uses neither `selection` nor `moment`. */
  readonly backfill?: BackfillPlan;
  /** Only for `rerun`: the point from which runs are rerun. Absent: from the start. */
  readonly from?: RerunFrom;
  readonly selection: Selection;
  readonly moment: Moment;
  /** The time up to which attempts (for words or a fingerprint) or jobs (for tags) were searched. Null: the selection has none of these. */
  readonly searchedUs: number | null;
  /** The maximum number of jobs that the action handles; null: no limit. */
  readonly limit: number | null;
  /** The maximum number of jobs or occurrences per second; null: no limit. */
  readonly perSecond: number | null;
  readonly reason: string | null;
  readonly by: string;
  /** How many jobs matched at `moment`. For a backfill: how many past occurrences its period had when it was requested. */
  readonly matched: number;
};

type StoredPlan = Omit<ActionPlan, 'operation'> & { readonly deed: ActionPlan['operation'] };

export type ActionProgress = {
  /** The last job that was handled, in the order of ids. For a backfill: the last occurrence. Null: none was handled yet. */
  readonly cursor: JobId | null;
  readonly done: number;
  readonly failed: number;
  readonly skipped: { readonly [R in SkipReason]?: number };
};
export type Action = { readonly plan: ActionPlan; readonly progress: ActionProgress };
export type ActionCounts = Omit<ActionProgress, 'cursor'>;

export const noProgress: ActionProgress = { cursor: null, done: 0, failed: 0, skipped: {} };

/** How many jobs or occurrences the action has handled. */
export function takenBy({ done, failed, skipped }: ActionCounts): number {
  return done + failed + Object.values(skipped).reduce((sum, count) => sum + count, 0);
}

export function putAction(batch: Batch, id: JobId, { plan, progress }: Action): void {
  const { operation: deed, ...rest } = plan;
  batch.put('actions', id, pack([{ deed, ...rest }, progress]));
}

export function decodeAction(value: Uint8Array): Action {
  const [{ deed: operation, ...rest }, progress] = unpack<[StoredPlan, ActionProgress]>(value);
  return { plan: { operation, ...rest }, progress };
}

/** The open action with this id. Undefined: the action has ended, no action has this id, or its record is unusable. */
export function readAction(reader: Reader, id: JobId): Action | undefined {
  const value = reader.get('actions', id);
  return value && readable(() => decodeAction(value));
}

/** The result of an ended action, as GET /job shows it. */
export function resultOf(matched: number, { done, failed, skipped }: ActionCounts): Uint8Array {
  return pack({ matched, done, skipped, failed });
}

export type ActionResult = ActionCounts & { readonly matched: number };

export function readResult(packed: Uint8Array): ActionResult {
  return unpack<ActionResult & JsonObject>(packed);
}
