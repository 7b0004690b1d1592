// The job actor's protocol: messages from other threads, and calls between the actors of the ledger thread.
import type { Body } from '../../runtime/host/wire/outcome.ts';
import type { EventHeaders } from '../../runtime/host/wire/plugin-host.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { StoredList } from '../../runtime/packed-list.ts';
import type { SetAsideRecord } from '../../runtime/store/set-aside.ts';
import type { ReplyTo, Turn } from '../../runtime/turn.ts';
import type { CancelJob } from './cancel/cancel-protocol.ts';
import type { Cancels } from './cancel/cancels.ts';
import type { BegunRun, DetachedCancels } from './cancel/detached-cancels.ts';
import type { PauseTargetNow, ResumeTarget } from './holds/pause-protocol.ts';
import type { ActionPlan, Moment } from './records/action.ts';
import type { OverdueRun } from './records/cancel.ts';
import type { JobGroup, Rerun, RunPhase, TerminalStatus } from './records/job.ts';
import type { CallOptions } from './records/options.ts';
import type { Pause, PauseTarget } from './records/pause.ts';
import type { QueueQuery } from './reports/queue-protocol.ts';
import type { RescheduleJob, RunNow } from './times/time-protocol.ts';

/**
 * `key`: a hash of an Idempotency-Key and the caller's API token, or of a webhook and the id of a delivery. `request`: a hash of the
 * method, path, query (without `wait`) and content of the request; for deliveries, a constant. Each has 16 bytes.
 */
export type IdempotencyKey = { readonly key: Uint8Array; readonly request: Uint8Array };

/**
 * The earlier answers to requests with idempotency keys. Calls of commands, calls of pipelines and actions share one set of keys: a key
 * that one of them has used cannot be used for another.
 */
export interface IdempotencyStore {
  /** The earlier answer to this key; a refusal if the key was used for another request. Null: there is no key, or it is new or has expired. */
  answer(key: IdempotencyKey | undefined, turn: Turn): SubmitReply | null;
  /** Like `answer`, for a call that may have created many jobs. */
  answerAll(key: IdempotencyKey, turn: Turn): SubmitJobsReply | null;
  /** Must be called in the turn that creates the jobs. `ids` has 16 bytes per job. */
  remember(key: IdempotencyKey, ids: Uint8Array, turn: Turn): void;
}

/**
 * The event with which a run, or a job of the command `handle`, begins. It comes from a call, a webhook delivery or a schedule; a rerun has
 * the event of the original run or job.
 */
export type EntryEvent = { readonly type: string; readonly source: string; readonly headers?: EventHeaders };

/** The data that new work has if it is a rerun: its origin, and the baggage and dedupe key of the original job. */
export type RerunSource = {
  readonly rerun: Rerun;
  /** The baggage, a packed map. */
  readonly context: Uint8Array;
  readonly dedupeKey: string | null;
};

type NewWork = {
  readonly submittedBy: string;
  readonly idempotency?: IdempotencyKey;
  readonly options?: CallOptions;
  /** Present for a rerun, which is a single job or run. */
  readonly source?: RerunSource;
  /** The baggage, a packed map. Only schedules set it. */
  readonly context?: Uint8Array;
  /** Set by a schedule if the work is accepted, and waits, even if a pause of its target refuses new calls. */
  readonly waitsUnderPause?: true;
};

/** New jobs that differ only in their payloads. Calls, a webhook, a schedule or a rerun create them. */
export type NewCalls = NewWork & {
  readonly plugin: string;
  readonly command: string;
  /** The packed payloads, one per job. */
  readonly payloads: readonly Uint8Array[];
  /** The event that the jobs receive, if their command is `handle`. Null: they have another command. */
  readonly event: EntryEvent | null;
  /** Whether callers wait: then a JobSettled follows for each job when the job has settled. */
  readonly watch?: boolean;
};
/** From the main thread: new jobs. Answered with a SubmitJobsReply. */
export type SubmitJobs = NewCalls & { readonly kind: 'submit'; readonly replyTo: ReplyTo };

/** From the main thread: the jobs of a batch. If there is not room for all, the first ones are accepted. Answered with a SubmitJobsReply. */
export type SubmitBatch = Omit<NewCalls, 'payloads' | 'watch' | 'source'> & {
  readonly kind: 'submit_batch';
  readonly replyTo: ReplyTo;
  readonly payloads: StoredList;
};

/** A run that a call, a delivery, a schedule or a rerun starts. */
export type NewRun = NewWork & {
  readonly pipeline: string;
  /** The packed payload, a map. */
  readonly payload: Uint8Array;
  /**
   * The event of a delivery or of a schedule. For a rerun: the event that started the original run. Absent: a call starts the run, or
   * started the original run.
   */
  readonly event?: EntryEvent;
};

/** Why new work is refused. The reasons up to `stopping` are temporary. */
export const refusals = [
  'queue_full',
  'too_many_waiting',
  'too_many_actions',
  'disk_full',
  'paused',
  'unavailable',
  'overloaded',
  'stopping',
  'unknown_plugin',
  'unknown_command',
  'unknown_pipeline',
  'not_kept',
  'idempotency_mismatch',
] as const;
export type Refusal = (typeof refusals)[number];

/** The answer to refused work. `untilUs`: when the reason ends by itself; absent: unknown. */
export type RefusedWork = {
  readonly kind: 'refused';
  readonly refusal: Refusal;
  readonly untilUs?: number;
  /** Only for `not_kept`: a text that names the data that is no longer stored. */
  readonly detail?: string;
};

/** The answer to a rerun of a job whose payload refers to values that are no longer stored. */
export const payloadGone: RefusedWork = {
  kind: 'refused',
  refusal: 'not_kept',
  detail: 'a part of the old payload is no longer stored: send a new payload',
};

/** The answer to the submission of one job, run or action. */
export type SubmitReply = { readonly kind: 'accepted'; readonly id: JobId } | RefusedWork;

/**
 * The answer to the submission of several jobs. `ids` has 16 bytes per job, in the order of the payloads. If there are fewer ids than
 * payloads, there was no room for the last payloads.
 */
export type SubmitJobsReply =
  /**
   * `rest`: why the jobs after those in `ids` were refused. Absent if none was refused, for a batch of runs, and for a repeated call, which
   * gets the ids of the first call.
   */
  { readonly kind: 'accepted'; readonly ids: Uint8Array; readonly rest?: Refusal } | RefusedWork;

/** To the main thread, after a commit: an awaited job or run has settled, or does not exist. Its callers may have left in the meantime. */
export type JobSettled = { readonly kind: 'job_settled'; readonly id: JobId };

/** To the main thread: the actors were restarted and no longer know which jobs are awaited. */
export type ActorsRestarted = { readonly kind: 'actors_restarted' };
export type EdgeMessage = JobSettled | ActorsRestarted;

/** The jobs and runs that callers wait for. The pipeline actor adds runs. */
export interface AwaitedJobs {
  /** Adds a job that this turn has created, or an open run. */
  add(id: JobId): void;
  /** Adds any other job or run, which may have settled already. */
  addKnown(id: JobId, turn: Turn): void;
}

/** From the main thread: callers wait for this job or run. */
export type AwaitJob = { readonly kind: 'await_job'; readonly id: JobId };
/** From the main thread: no caller waits for this job or run any more. */
export type ForgetJob = { readonly kind: 'forget_job'; readonly id: JobId };

/** Adjacent jobs of one plugin and command for a step of a run. */
export type NewJobs = {
  readonly plugin: string;
  readonly command: string;
  readonly group: JobGroup;
  /** The packed payloads, one per job: `payloads[k]` belongs to job k of the group. */
  readonly payloads: readonly Uint8Array[];
  /**
   * Set if the jobs end without an attempt, because their payloads could not be created or because of a limit on chains or trees. Null: the
   * jobs are queued.
   */
  readonly failedAtCreation: { readonly status: 'failed' | 'dead'; readonly error: string } | null;
};

export type EndedRun = {
  readonly id: JobId;
  readonly pipeline: string;
  readonly submittedBy: string;
  /** The final status of the run. `dead`: the run never began, because its root had too many descendants. */
  readonly status: TerminalStatus;
  readonly body: Body;
  /** When the run was created, in µs. */
  readonly createdUs: number;
  /** The number of the run's only attempt. 0: the run was cancelled before it began. */
  readonly attempt: 0 | 1;
};

/** The job actor, as the other actors of its thread call it. All changes are part of the turn's commit. */
export interface JobCalls {
  /**
   * Why no new work is accepted at the moment; null: new work is accepted. `plugin`: the plugin of a new job; absent: the work is a run,
   * which may call any plugin. `waitingRuns`: the number of runs that count in addition to the jobs: accepted runs that have not begun, and
   * earlier runs of the same batch. `mustWait`: whether the work is delayed or held.
   */
  refusal(plugin?: string, waitingRuns?: number, mustWait?: boolean): Refusal | null;
  readonly idempotency: IdempotencyStore;
  readonly awaited: AwaitedJobs;
  /** Creates jobs for a step. They are never refused, because their run was accepted. */
  createJobs(jobs: NewJobs, turn: Turn): void;
  /** Creates the job that stands for a run. It is never dispatched. */
  createRun(pipeline: string, group: JobGroup, payload: Uint8Array, turn: Turn): JobId;
  /** Creates jobs for runs that are roots, differ only in their payloads and begin in a later turn. They are never dispatched. */
  createRuns(pipeline: string, group: JobGroup, payloads: readonly Uint8Array[], turn: Turn): JobId[];
  settleRun(run: EndedRun, turn: Turn): void;
  /** The pause that holds the runs of this pipeline at their next step. Null: there is none. */
  pauseOf(pipeline: string): Pause | null;
  /** Why a pause refuses new runs of this pipeline. Null: none does. */
  pauseRefusal(pipeline: string, submittedBy: string): RefusedWork | null;
  /** The cancels of runs: lookups and updates. */
  readonly cancels: Pick<Cancels, 'haveRuns' | 'of' | 'around' | 'countNotStarted' | 'phaseBegins'> & {
    readonly detached: Pick<DetachedCancels, 'coversEventsOf'>;
  };
  /** Must be called when a source of holds has changed its answer for some plugins. */
  holdsChanged(): void;
}

/** The pipeline actor, as the job actor calls it. */
export interface PipelineCalls {
  /** Advances the runs of these jobs, and handles the jobs' events and hooks. Must be called in the turn in which the jobs settle. */
  jobsSettled(settled: readonly JobsSettled[], turn: Turn): void;
  /** Called when pauses have expired or were ended by a caller: runs that they held can continue, unless another pause holds them. */
  resumed(pauses: readonly PauseTarget[]): void;
  /** Starts a run, as a call does. */
  startRun(run: NewRun, turn: Turn): SubmitReply;
  /** Begins a delayed run whose time, `runAtUs`, has come. If the definition of the pipeline is missing, the run fails instead. */
  beginDelayed(run: JobId, runAtUs: number): void;
  /** Ends a delayed run as cancelled, with this error. */
  endDelayed(run: JobId, error: string): void;
  isOpen(run: JobId): boolean;
  /**
   * The run that called this run, and whose cancel applies to this run. Null: no run called this run, or this run has ended or is in `finally`.
   */
  callerOf(run: JobId): JobId | null;
  /** The phase that the run is in. Null: the run is in its main part, or is not open. */
  phaseOf(run: JobId): RunPhase | null;
  /**
   * A pause of the service holds neither a cancelled run that is in a phase, nor the runs that such a phase has called. For these runs,
   * returns when the phase began, in µs, or an earlier time. Null: a pause of the service holds the run.
   */
  exemptSince(run: JobId): number | null;
  /** When the next run or phase must be stopped, in µs, or an earlier time; null: no open run has a time limit. */
  readonly nextDeadlineUs: number | null;
  /**
   * The runs that must be stopped now, because their deadline, the time limit of their phase or the timeout of the step that called
   * them has passed. If there are very many, the others follow in later turns. Each of these times is reported once.
   */
  takeOverdue(turn: Turn): Iterable<OverdueRun>;
  /** The origin of an open run. The run may not be stored yet. Null: the run is a root, is not open, or was read from the store. */
  begun(run: JobId): BegunRun | null;
  /** Whether events or hooks in the tree with this root wait to start runs. */
  haveWaitingEvents(root: JobId): boolean;
  /**
   * Called when a cancel applies to the run. Fails the current part of the run, which then starts no more jobs; a phase may follow. False: the
   * run is not open, or the part has failed already.
   */
  cancelRun(run: JobId): boolean;
}

export type JobsSettled = {
  readonly plugin: string;
  readonly command: string;
  readonly group: JobGroup;
  readonly jobs: readonly SettledJob[];
};
export type SettledJob = {
  readonly id: JobId;
  /** The position of the job in its group. If the group has a first ordinal, the ordinal of the job is that ordinal plus this position. */
  readonly offset: number;
  readonly status: TerminalStatus;
  readonly body: Body;
  /** Whether the job was cancelled with its run before it started: then no hook fires. */
  readonly isSilent?: boolean;
  /** Set if the job ended without an attempt. */
  readonly neverStarted?: true;
};

/** From the main thread: which of these jobs (16 bytes each) does no host have? Answered with an IdleReply. */
export type IdleQuery = { readonly kind: 'ask_idle'; readonly replyTo: ReplyTo; readonly ids: Uint8Array };
/** The jobs that no host has. Null: the answer is unknown, because unsettled jobs are still being read after the start. */
export type IdleReply = { readonly kind: 'idle'; readonly ids: Uint8Array | null };

/** The reasons for which an unsettled job can wait (waits.ts). */
export const waitReasons = [
  'worker',
  'retry',
  'run_at',
  'schedule_queue',
  'children',
  'paused',
  'plugin',
  'vault',
  'disk',
] as const;
export type WaitReason = (typeof waitReasons)[number];
/** What a job waits for. `sinceUs` 0: it has waited since it was accepted. */
export type Waits = {
  readonly reason: WaitReason;
  readonly detail: string;
  readonly sinceUs: number;
  /** When this reason ends by itself; absent: unknown. */
  readonly untilUs?: number;
};
/** From the main thread: what does this job wait for? Answered with a WaitsReply. */
export type WaitsQuery = { readonly kind: 'ask_waits'; readonly replyTo: ReplyTo; readonly id: JobId };
export type WaitsReply = { readonly kind: 'waits'; readonly waits: Waits | null };

/** The number of queued jobs of one plugin and command, including delayed jobs and jobs that wait for their next attempt. */
export type QueuedJobs = { readonly plugin: string; readonly command: string; readonly jobs: number };
/** `delayed`: how many of the jobs are delayed. */
export type CountedJobs = QueuedJobs & { readonly delayed: number };
/** The number of held jobs of one plugin and command. Delayed jobs are left out: they are held once they are due. */
export type HeldJobs = QueuedJobs & { readonly detail: string; readonly sinceUs: number };
/**
 * From the main thread: which jobs are held, other than by a pause? `next`: by plugin, the commands that another configuration can run.
 * With `next`, the question is which further jobs that configuration would hold. Answered with a HeldReply.
 */
export type HeldQuery = {
  readonly kind: 'ask_held';
  readonly replyTo: ReplyTo;
  readonly next?: { readonly [plugin: string]: readonly string[] };
};
export type HeldReply = { readonly kind: 'held'; readonly held: readonly HeldJobs[] };

/** From the main thread: which records are unusable? Answered with a SetAsideReply. */
export type SetAsideQuery = { readonly kind: 'ask_set_aside'; readonly replyTo: ReplyTo };
/** The unusable records. `all`: their number, including those that are not listed. */
export type SetAsideReply = {
  readonly kind: 'set_aside';
  readonly all: number;
  readonly listed: readonly SetAsideRecord[];
};

/**
 * From the main thread: asks for a moment up to which jobs can be selected. Answered with a MomentReply after the commit, when
 * reads show all jobs that were accepted before the moment. `idempotency`: the key of the request that needs the moment; if the key is
 * known, the answer is the SubmitReply for the key instead.
 */
export type MomentQuery = {
  readonly kind: 'ask_moment';
  readonly replyTo: ReplyTo;
  readonly idempotency?: IdempotencyKey;
};
export type MomentReply = { readonly kind: 'moment'; readonly moment: Moment };

/** From the main thread: start an action over many jobs. Answered with a SubmitReply. */
export type StartAction = {
  readonly kind: 'start_action';
  readonly replyTo: ReplyTo;
  readonly plan: ActionPlan;
  /** The payload of the action's own job, packed, as GET /job shows it. */
  readonly payload: Uint8Array;
  readonly idempotency?: IdempotencyKey;
};

/**
 * From the main thread: the next step of an action, with the ids of the next jobs (16 bytes each, in ascending order). A backfill
 * has no ids. Answered with an ActionStepReply.
 */
export type ActionStep = {
  readonly kind: 'action_step';
  readonly replyTo: ReplyTo;
  readonly id: JobId;
  /** The ids come after this cursor. If the action has another cursor, the step does nothing. */
  readonly after: JobId | null;
  readonly ids: Uint8Array;
  /** Whether no further jobs match. */
  readonly isLast: boolean;
};
/** The state of an action after a step. `waits`: why the job or occurrence after the cursor cannot be handled yet. Null: nothing prevents it. */
export type ActionStepReply = {
  readonly kind: 'action_step';
  readonly cursor: JobId | null;
  readonly isOver: boolean;
  readonly waits: Refusal | null;
};

/** A message from another thread. */
export type JobMessage =
  | MomentQuery
  | StartAction
  | ActionStep
  | RunNow
  | RescheduleJob
  | AwaitJob
  | ForgetJob
  | PauseTargetNow
  | ResumeTarget
  | SubmitJobs
  | SubmitBatch
  | CancelJob
  | IdleQuery
  | QueueQuery
  | WaitsQuery
  | HeldQuery
  | SetAsideQuery;
