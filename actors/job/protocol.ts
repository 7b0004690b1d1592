// What the job actor is told and asked, and what it tells others.
import type { Body } from '../../runtime/host/wire/outcome.ts';
import type { EventHeaders } from '../../runtime/host/wire/port.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { SetAsideRecord } from '../../runtime/store/set-aside.ts';
import type { ReplyTo, Turn } from '../../runtime/turn.ts';
import type { JobGroup, TerminalStatus } from './records/job.ts';

/** Hashes (16 bytes each): of an Idempotency-Key with the token it belongs to, and of the whole request. */
export type IdempotencyKey = { readonly key: Uint8Array; readonly request: Uint8Array };

/** What calls with an Idempotency-Key were answered. Shared by the actors that take calls: a key belongs to one of all requests. */
export interface Remembrance {
  /** What the key was answered before, a refusal where that was another request; null: the key is new. */
  answer(key: IdempotencyKey, turn: Turn): SubmitReply | null;
  /** In the commit of this turn. */
  remember(key: IdempotencyKey, id: JobId, turn: Turn): void;
}

/** What a call or a delivery makes of the event that it stands for. */
export type EntryEvent = { readonly type: string; readonly source: string; readonly headers?: EventHeaders };

/** From the edge: jobs of direct calls or a webhook that have all of this in common. Asked; answered with a SubmitJobsReply. */
export type SubmitJobs = {
  readonly kind: 'submit';
  readonly replyTo: ReplyTo;
  readonly plugin: string;
  readonly command: string;
  /** Packed, one a job. */
  readonly payloads: readonly Uint8Array[];
  readonly submittedBy: string;
  /** The envelope for `handle`, else null. */
  readonly event: EntryEvent | null;
  /** Of a job that comes alone. */
  readonly idempotency?: IdempotencyKey;
};

/** Why new work is not taken. The first six pass by themselves. */
export const refusals = [
  'queue_full',
  'waiting_full',
  'disk_full',
  'unavailable',
  'overloaded',
  'stopping',
  'unknown_plugin',
  'unknown_command',
  'unknown_pipeline',
  'idempotency_mismatch',
] as const;
export type Refusal = (typeof refusals)[number];

/** What becomes of one job or run. */
export type SubmitReply =
  | { readonly kind: 'accepted'; readonly id: JobId }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** `ids` has 16 bytes a job, in their order; where it ends before they do, the queue was full for the others. */
export type SubmitJobsReply =
  | { readonly kind: 'accepted'; readonly ids: Uint8Array }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** From the pipeline actor: jobs of one plugin and command, side by side in one block. Always taken: their run was accepted. */
export type CreateJobs = {
  readonly kind: 'create';
  readonly plugin: string;
  readonly command: string;
  readonly group: JobGroup;
  /** Packed, one a job; the group's job k has payloads[k]. */
  readonly payloads: readonly Uint8Array[];
  /** Not null: the jobs end at once, without an attempt (template error, hop limit). */
  readonly stillborn: { readonly status: 'failed' | 'dead'; readonly error: string } | null;
};

/** Gives runs their ids. Each is used at once: its `create_run` follows in the same turn, in the order of the ids. */
export interface RunIds {
  /** Runs that are roots of their trees share blocks; any other has one of its own, younger than its parent's, for the order of the tree. */
  next(turn: Turn, pipeline: string, payload: Uint8Array, isRoot: boolean): JobId;
}

/** From the pipeline actor: the job that stands for a run. Its id was given by RunIds; it is never dispatched. */
export type CreateRun = {
  readonly kind: 'create_run';
  readonly id: JobId;
  readonly pipeline: string;
  readonly group: JobGroup;
  readonly payload: Uint8Array;
};

/** From the pipeline actor: the run is over. */
export type SettleRun = {
  readonly kind: 'settle_run';
  readonly id: JobId;
  readonly pipeline: string;
  readonly submittedBy: string;
  /** `dead`: it never began, because its root had too many descendants. */
  readonly status: 'succeeded' | 'failed' | 'dead';
  readonly body: Body;
  /** When the run was created, in µs. */
  readonly createdUs: number;
};

/** To the pipeline actor, in the commit that settles them: jobs of one group that ended for good. */
export type JobsSettled = {
  readonly kind: 'settled';
  readonly plugin: string;
  readonly command: string;
  readonly group: JobGroup;
  readonly jobs: readonly SettledJob[];
};
export type SettledJob = {
  readonly id: JobId;
  /** Place in the group: its ordinal is the group's first plus this. */
  readonly offset: number;
  readonly status: TerminalStatus;
  readonly body: Body;
};

/** From the edge: which of these jobs (16 bytes each) no host holds. Asked; answered with an IdleReply. */
export type AskIdle = { readonly kind: 'ask_idle'; readonly replyTo: ReplyTo; readonly ids: Uint8Array };
/** Null: a start is still reading what is open, and nobody knows yet. */
export type IdleReply = { readonly kind: 'idle'; readonly ids: Uint8Array | null };

/** From the edge: what waits and runs now. Asked; answered with a QueueReply. */
export type AskQueue = { readonly kind: 'ask_queue'; readonly replyTo: ReplyTo };
export type QueueReply = {
  readonly kind: 'queue';
  readonly queued: number;
  readonly running: number;
  /** Waiting for their next attempt. */
  readonly delayed: number;
  /** Queued, and not handed out. */
  readonly held: number;
  readonly dead: number;
  readonly workers: number;
  /** 0 to 1, over the last minute. */
  readonly utilization: number;
  readonly active: readonly {
    readonly jobId: string;
    readonly plugin: string;
    readonly command: string;
    readonly startedUs: number;
  }[];
  readonly lanes: readonly {
    readonly plugin: string;
    readonly active: number;
    readonly queued: number;
    readonly limit: number | null;
  }[];
};

/** Why a job is not with a worker. */
export const waitReasons = ['worker', 'retry', 'children', 'plugin', 'vault', 'disk'] as const;
export type WaitReason = (typeof waitReasons)[number];
/** `sinceUs` 0: since it was accepted. */
export type Waits = {
  readonly reason: WaitReason;
  readonly detail: string;
  readonly sinceUs: number;
  /** When that is over at the latest; left out where nobody can tell. */
  readonly untilUs?: number;
};
/** From the edge: what this job waits for. Asked; answered with a WaitsReply. */
export type AskWaits = { readonly kind: 'ask_waits'; readonly replyTo: ReplyTo; readonly id: JobId };
export type WaitsReply = { readonly kind: 'waits'; readonly waits: Waits | null };

/** Queued jobs of one plugin and command, those that wait for their next attempt too. */
export type QueuedJobs = { readonly plugin: string; readonly command: string; readonly jobs: number };
export type HeldJobs = QueuedJobs & { readonly detail: string; readonly sinceUs: number };
/**
 * From the edge: what is held; with `next`, the commands of each plugin of another configuration, what that one would hold besides.
 * Asked; answered with a HeldReply.
 */
export type AskHeld = {
  readonly kind: 'ask_held';
  readonly replyTo: ReplyTo;
  readonly next?: { readonly [plugin: string]: readonly string[] };
};
export type HeldReply = { readonly kind: 'held'; readonly held: readonly HeldJobs[] };

/** From the edge: which records cannot be used. Asked; answered with a SetAsideReply. */
export type AskSetAside = { readonly kind: 'ask_set_aside'; readonly replyTo: ReplyTo };
/** `all` counts those that are not listed, too. */
export type SetAsideReply = {
  readonly kind: 'set_aside';
  readonly all: number;
  readonly listed: readonly SetAsideRecord[];
};

/** From whoever holds plugins (`holdSources`): what it says of some of them has changed. */
export type HoldsChanged = { readonly kind: 'holds_changed' };

export type JobMessage =
  | AskHeld
  | AskSetAside
  | AskWaits
  | HoldsChanged
  | AskIdle
  | AskQueue
  | SubmitJobs
  | CreateJobs
  | CreateRun
  | SettleRun;
