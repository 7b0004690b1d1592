// What is stored of jobs: blocks as they were accepted, what of them is open, and how each attempt ended.
import { type Body, bodyPart } from '../../../runtime/host/wire/outcome.ts';
import type { EventHeaders } from '../../../runtime/host/wire/plugin-host.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';

/** The plugin name of the jobs that stand for pipeline runs. */
export const pipelinePlugin = 'pipeline';

/** Every status of a job (docs/contract.md#statuses). */
export const statuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'dead'] as const;
export type Status = (typeof statuses)[number];
export const terminalStatuses = ['succeeded', 'failed', 'timed_out', 'dead'] as const;
export type TerminalStatus = (typeof terminalStatuses)[number];

/** Where a job stands in a pipeline run; only the pipeline actor reads what is inside. */
export type RunPosition = {
  readonly run: JobId;
  /** The step, as its number in the compiled definition. */
  readonly node: number;
  /** The scope whose join waits for it. */
  readonly scope: number;
  /** Ordinals of the forks on the way here: they order the entries of a join. */
  readonly path: readonly number[];
  /** Not null: job k of the group has the path with `first + k` appended. */
  readonly first: number | null;
};

/** What jobs that stand side by side in a block have in common. */
export type JobGroup = {
  readonly submittedBy: string;
  /** The job that caused these; null for the root of a tree. */
  readonly parent: JobId | null;
  /** The root of the tree they belong to; null: each is its own root. */
  readonly root: JobId | null;
  /** How many jobs the event chain has crossed up to and with this one. */
  readonly depth: number;
  /** For `handle`: the envelope. eventId null: the job's own id. */
  readonly event: {
    readonly type: string;
    readonly source: string;
    readonly eventId: string | null;
    readonly dedupeKey: string | null;
    /** Of a webhook whose endpoint names some. */
    readonly headers?: EventHeaders;
  } | null;
  /** Packed map: the baggage. */
  readonly context: Uint8Array;
  readonly pipeline: string | null;
  readonly stepId: string | null;
  readonly run: RunPosition | null;
  /** Inside a run that a hook started: no hooks fire. */
  readonly hooked: boolean;
};

/** Without headers it has one shape: every job has an event. */
export function makeEvent(
  { type, source, headers }: { readonly type: string; readonly source: string; readonly headers?: EventHeaders },
  dedupeKey: string | null,
): NonNullable<JobGroup['event']> {
  if (headers === undefined) return { type, source, eventId: null, dedupeKey };
  return { type, source, eventId: null, dedupeKey, headers };
}

/**
 * How the jobs inside a run ended, those of called runs included; `unsettled`: how many are left of those that were made, where the
 * run goes on.
 */
export type Tally = { readonly [S in TerminalStatus]: number } & { readonly unsettled?: number };

/** Those of a run that goes on which did not succeed. */
export type Unsuccessful = { failed: number; timed_out: number; dead: number };

export const noneUnsuccessful = (): Unsuccessful => ({ failed: 0, timed_out: 0, dead: 0 });

export function unsuccessfulOf(ended: readonly { readonly status: TerminalStatus }[]): Unsuccessful {
  const sum = noneUnsuccessful();
  for (const { status } of ended) if (status !== 'succeeded') sum[status]++;
  return sum;
}

export function tallyOf(settled: number, { failed, timed_out, dead }: Unsuccessful): Tally {
  return { succeeded: settled - failed - timed_out - dead, failed, timed_out, dead };
}

export function addUnsuccessful(sum: Unsuccessful, { failed, timed_out, dead }: Unsuccessful): void {
  sum.failed += failed;
  sum.timed_out += timed_out;
  sum.dead += dead;
}

export function encodeTally(tally: Tally): Uint8Array {
  return pack(terminalStatuses.map(status => tally[status]));
}

/** Of a run that is over; null where it was written by a version that did not count. */
export function readTally(body: Body): Tally | null {
  const packed = bodyPart(body, 'counts');
  if (!packed) return null;
  const [succeeded = 0, failed = 0, timed_out = 0, dead = 0] = unpack<number[]>(packed);
  return { succeeded, failed, timed_out, dead };
}
